"""A dump of the topic `_schemas` as a source."""
