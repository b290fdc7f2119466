"""Observation of usage: which schema ids a program reads, and which fields of the values."""
