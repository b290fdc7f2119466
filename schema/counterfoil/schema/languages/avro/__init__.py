"""Avro: reading and printing schemas, comparing them, witnesses, changes, tags."""
