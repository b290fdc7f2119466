"""The names of ``confluent_kafka.schema_registry.rules.encryption``."""
