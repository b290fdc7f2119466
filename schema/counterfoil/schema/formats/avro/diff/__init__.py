"""The changes between two Avro schemas."""
