"""The converter: bridges that convert the records of a topic to another schema, with Spark."""
