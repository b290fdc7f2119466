"""The policy LOGICAL: a schema as the type of a table's rows, and what breaks such a table."""

from counterfoil.schema.logical.differences import find_logical_differences

__all__ = ["find_logical_differences"]
