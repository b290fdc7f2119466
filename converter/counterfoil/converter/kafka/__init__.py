"""Topics and records of a Kafka cluster, outside Spark."""
