"""Engines: implementations of one interface, which return the same bytes."""
