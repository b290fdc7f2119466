"""Bridges: their states and gates, and how they are stored."""
