"""``.proto`` text from the tree: as it is stored, and normalised."""
