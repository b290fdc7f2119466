"""Schemas of all three languages, and records that libraries of other projects write and read."""
