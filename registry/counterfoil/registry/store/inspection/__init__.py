"""``counterfoil db check`` and ``db stats``: the invariants and the sizes of a store."""
