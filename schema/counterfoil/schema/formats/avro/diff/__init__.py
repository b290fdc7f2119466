"""What changed between two Avro schemas."""
