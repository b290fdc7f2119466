"""Audit: the events that are recorded, and their lines. Pure."""
