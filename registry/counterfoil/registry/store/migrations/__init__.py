"""How stores of older formats become stores of this one. Never imported by a server: only ``counterfoil db`` does."""
