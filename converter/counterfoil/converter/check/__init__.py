"""``counterfoil bridge check``: the topics are inspected, and the engine is tried on sampled records."""
