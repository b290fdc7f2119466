"""``/auth/v1``: who calls, who may do what, and changes of that."""
