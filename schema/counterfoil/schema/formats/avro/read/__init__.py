"""Avro text, as a type tree."""
