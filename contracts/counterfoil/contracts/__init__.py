"""Contract checks for CI: findings about a change of a schema, and the command line."""
