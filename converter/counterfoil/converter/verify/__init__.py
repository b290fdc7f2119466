"""``counterfoil bridge verify``: that every record of the source was written once."""
