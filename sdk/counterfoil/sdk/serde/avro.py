"""Avro for Kafka: a serializer and a deserializer that find their schemas in a registry."""

from __future__ import annotations

from counterfoil.sdk.serde.avro_deserializer import AvroDeserializer, Decoded
from counterfoil.sdk.serde.avro_serializer import AvroSerializer, Register

__all__ = ["AvroDeserializer", "AvroSerializer", "Decoded", "Register"]
