"""The use cases of encryption keys."""
