"""Serializers and deserializers in the Confluent wire format."""
