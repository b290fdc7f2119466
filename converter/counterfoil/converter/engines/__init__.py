"""Engines: one interface, the same bytes."""
