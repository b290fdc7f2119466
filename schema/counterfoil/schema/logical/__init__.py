"""The policy LOGICAL: schemas as the types of a table's rows, and the differences that break such a table."""
