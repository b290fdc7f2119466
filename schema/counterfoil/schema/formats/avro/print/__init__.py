"""Avro text from the type tree: as it is stored, canonical, normalised."""
