"""``counterfoil sketch``: a topic is read once, with Spark or without, and its records are summarized."""
