"""The policy LOGICAL: a schema as the type of a table's rows, and what breaks such a table."""
