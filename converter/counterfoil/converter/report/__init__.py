"""``counterfoil bridge report``: the page about a bridge."""
