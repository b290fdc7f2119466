"""Looking at a store without serving it: is everything in it as it must be, and how much is there."""
