"""Records of topics: decoded, encoded, consumed and produced."""
