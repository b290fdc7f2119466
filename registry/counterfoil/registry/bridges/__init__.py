"""Bridges: their states, gates and reports."""
