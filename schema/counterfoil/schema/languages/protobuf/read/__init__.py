"""``.proto`` text as a syntax tree, and the types that it may name."""
