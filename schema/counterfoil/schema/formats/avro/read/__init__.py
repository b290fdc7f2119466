"""The reading of Avro texts as type trees."""
