"""Values of JSON schemas: they are JSON already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.sdk.serde.codec import Codec, Decode


class JsonForm:
    """The form of JSON Schema's values; they are validated when they are written."""

    options: Final[Mapping[str, Any]] = {"validate": "write"}

    def decoder(self, codec: Codec[Any], writer: Any, reader: Any, suffix: bytes) -> Decode:
        """Return the decoder of the codec."""
        return codec.decoder(writer, reader, suffix)

    def value(self, parsed: Any, given: Any, message: str | None = None) -> Any:
        """Return the value as it is."""
        del parsed, message
        return given
