"""Batches of messages as Arrow tables."""
