"""Avro texts from the type tree: canonical and normalised."""
