"""``counterfoil sketch``: a summary of the records of a topic."""
