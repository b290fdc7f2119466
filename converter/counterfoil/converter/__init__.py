"""The converter: a PySpark job that carries records from one schema and topic to another."""
