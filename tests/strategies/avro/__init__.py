"""Avro schemas, pairs of them, and their data as values and as bytes; the codec in each of its tiers."""
