"""The changes between two JSON schemas."""
