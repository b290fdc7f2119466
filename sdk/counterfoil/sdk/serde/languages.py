"""The schema languages of messages: one row for each, whose modules are imported when a schema needs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.sdk.serde.codec import Codec
    from counterfoil.sdk.serde.deserializer import Deserializer
    from counterfoil.sdk.serde.sources import AnyRegistry

_SERDE: Final = "counterfoil.sdk.serde"


@dataclass(frozen=True, slots=True)
class Language:
    """Where the deserializer and the codec of a language are: a module below this package, and a name in it.

    ``plain`` are the options of the codec with which values are plain, and nothing is validated.
    """

    deserializer: tuple[str, str]
    codec: tuple[str, str]
    plain: Mapping[str, Any] = field(default_factory=dict)

    def make_deserializer(self, registry: AnyRegistry) -> Deserializer[Any]:
        """Return a deserializer with its defaults."""
        made: Deserializer[Any] = _named(*self.deserializer)(registry)
        return made

    def plain_codec(self) -> Codec[Any]:
        """Return the codec with which any message is read."""
        return self.make_codec(**self.plain)

    def make_codec(self, **options: Any) -> Codec[Any]:
        """Return the codec with these options."""
        codec: Codec[Any] = _named(*self.codec)(**options)
        return codec


LANGUAGES: Final[Mapping[SchemaType, Language]] = {
    SchemaType.AVRO: Language(("avro", "AvroDeserializer"), ("avro", "AvroCodec")),
    SchemaType.JSON: Language(("json", "JsonDeserializer"), ("json_codec.codec", "JsonCodec"), {"validate": False}),
    SchemaType.PROTOBUF: Language(
        ("protobuf", "ProtobufDeserializer"), ("protobuf_codec.codec", "ProtobufCodec"), {"as_dict": True}
    ),
}


def _named(module: str, name: str) -> Any:
    return getattr(import_module(f"{_SERDE}.{module}"), name)
