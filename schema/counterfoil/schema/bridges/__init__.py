"""Bridges: which records go from which topic to which, by which rules."""
