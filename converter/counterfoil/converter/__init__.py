"""The converter: a PySpark job that copies records to another topic and converts them to another schema."""
