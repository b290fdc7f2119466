"""`counterfoil check`: whether a change of schemas and contracts is allowed; it does no I/O."""
