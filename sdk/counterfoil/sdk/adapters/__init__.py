"""One module for each Kafka client or stream framework: what it needs besides the serializers themselves."""
