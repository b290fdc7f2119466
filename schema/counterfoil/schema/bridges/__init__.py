"""Bridges: which topic is converted to which, by which rules; for the converter, and for registries that keep them."""
