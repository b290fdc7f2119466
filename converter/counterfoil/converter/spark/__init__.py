"""Spark: its Java, its session, and how it starts."""
