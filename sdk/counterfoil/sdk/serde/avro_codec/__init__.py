"""Avro's binary encoding as generated Python code: one encoder per schema, one decoder per pair of schemas."""

from __future__ import annotations

from counterfoil.sdk.serde.avro_codec.decode import Decode, compile_decoder
from counterfoil.sdk.serde.avro_codec.encode import Encode, compile_encoder
from counterfoil.sdk.serde.avro_codec.weights import MAX_EMPTY_ITEMS

__all__ = ["MAX_EMPTY_ITEMS", "Decode", "Encode", "compile_decoder", "compile_encoder"]
