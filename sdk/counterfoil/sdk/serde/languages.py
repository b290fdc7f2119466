"""The schema languages of messages: one row for each, whose modules are imported when a schema needs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.model import Schema
    from counterfoil.sdk.serde.codec import Codec
    from counterfoil.sdk.serde.deserializer import Deserializer
    from counterfoil.sdk.serde.serializer import Serializer
    from counterfoil.sdk.serde.sources import AnyRegistry

_SERDE: Final = "counterfoil.sdk.serde"


@dataclass(frozen=True, slots=True)
class Language:
    """Where the classes of a language are: a module below this package, and a name in it.

    ``plain`` are the options of the codec with which values are plain, and nothing is validated.
    """

    deserializer: tuple[str, str]
    serializer: tuple[str, str]
    codec: tuple[str, str]
    plain: Mapping[str, Any] = field(default_factory=dict)

    def make_deserializer(self, registry: AnyRegistry, **options: Any) -> Deserializer[Any]:
        """Return a deserializer with these options, and else its defaults."""
        made: Deserializer[Any] = _named(*self.deserializer)(registry, **options)
        return made

    def make_serializer(self, registry: AnyRegistry, schema: Schema, **options: Any) -> Serializer[Any]:
        """Return a serializer with these options, and else its defaults."""
        made: Serializer[Any] = _named(*self.serializer)(registry, schema, **options)
        return made

    def plain_codec(self) -> Codec[Any]:
        """Return the codec with which any message is read."""
        return self.make_codec(**self.plain)

    def make_codec(self, **options: Any) -> Codec[Any]:
        """Return the codec with these options."""
        codec: Codec[Any] = _named(*self.codec)(**options)
        return codec


LANGUAGES: Final[Mapping[SchemaType, Language]] = {
    SchemaType.AVRO: Language(("avro", "AvroDeserializer"), ("avro", "AvroSerializer"), ("avro", "AvroCodec")),
    SchemaType.JSON: Language(
        ("json", "JsonDeserializer"), ("json", "JsonSerializer"), ("json_codec.codec", "JsonCodec"), {"validate": False}
    ),
    SchemaType.PROTOBUF: Language(
        ("protobuf", "ProtobufDeserializer"),
        ("protobuf", "ProtobufSerializer"),
        ("protobuf_codec.codec", "ProtobufCodec"),
        {"as_dict": True},
    ),
}


def _named(module: str, name: str) -> Any:
    return getattr(import_module(f"{_SERDE}.{module}"), name)
