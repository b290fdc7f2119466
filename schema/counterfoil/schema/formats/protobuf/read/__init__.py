"""Parsing of ``.proto`` text as a syntax tree, and resolution of its names."""
