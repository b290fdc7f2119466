"""Whether a record keeps what a contract promises of its value, key and headers."""
