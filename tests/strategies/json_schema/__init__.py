"""JSON schemas, pairs of them, their values, and the patterns of ECMA 262."""
