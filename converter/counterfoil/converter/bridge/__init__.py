"""What a bridge file declares, with the schemas from the registry."""
