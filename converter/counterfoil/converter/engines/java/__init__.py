"""The engine ``java``: a plan as one generated class; here for Avro, bytes to bytes."""
