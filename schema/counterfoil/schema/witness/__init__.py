"""Witnesses: a datum that the writer may write and the reader cannot read."""
