"""Bridges as files, as programs, and as what clients register and report."""
