"""Witnesses for Avro, confirmed by fastavro."""
