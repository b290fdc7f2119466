"""Avro schemas compared: the rules of schema resolution and the pair walk that applies them."""
