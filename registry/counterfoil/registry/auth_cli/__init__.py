"""``counterfoil auth``: what needs the access file alone, and changes of what a store declares."""
