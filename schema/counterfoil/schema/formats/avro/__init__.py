"""Apache Avro."""
