"""Snippets of the pages, and the surroundings in which they are run."""
