"""One module for each Kafka client or stream framework: its needs besides the serializers themselves."""
