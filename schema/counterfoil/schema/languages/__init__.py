"""The schema languages: Avro, Protobuf and JSON Schema. A further one is a folder here and a row in the table."""
