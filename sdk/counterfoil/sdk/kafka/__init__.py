"""How a Kafka cluster is reached: options, one configuration for both clients of Kafka, reading parts of topics."""
