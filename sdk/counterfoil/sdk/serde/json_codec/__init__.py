"""JSON as a message format: writing, reading, validation, defaults."""

from __future__ import annotations

from counterfoil.sdk.serde.json_codec.codec import JsonCodec, Validate

__all__ = ["JsonCodec", "Validate"]
