"""``.proto`` text, as a tree with resolved names."""
