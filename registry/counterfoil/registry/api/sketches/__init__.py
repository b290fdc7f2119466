"""``/sketches/v1``: sketches of topics, stored with their subjects."""
