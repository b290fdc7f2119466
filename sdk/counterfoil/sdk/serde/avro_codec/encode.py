"""Encoders: from a schema to a function from a value to bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from counterfoil.schema.formats.avro.types import Kind
from counterfoil.sdk.serde.avro_codec.encode_code import encoder_source
from counterfoil.sdk.serde.avro_codec.encode_walk import EncodeWalk

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import Union


class Encode(Protocol):
    """What :func:`compile_encoder` gives."""

    def __call__(self, value: object, prefix: bytes = b"", /) -> bytes:
        """``prefix`` and then the encoding of ``value``. Raises ``EncodeError`` with path, expected and got."""


def compile_encoder(schema: AvroSchema, *, strict: bool = False) -> Encode:
    """A function that writes values of ``schema``.

    It takes the values that a decoder gives, and more: numbers of other libraries, any sequence or mapping, a number
    in place of a date or time. A field that a dict does not have is written as its default, and without one it is an
    error; keys that are no fields are ignored, or with ``strict`` an error. A value of a union goes to the branch of
    its Python type, a dict to the record whose fields it has; where that leaves several, ``("full.name", value)`` or
    the key ``-type`` says which. A top-level ``bytes`` is written without its length.

    Compiling takes milliseconds: keep the function. It may be called from many threads.

    Source: Apache Avro 1.12 specification, "Binary Encoding".
    """
    root = schema.root
    is_raw = root.kind is Kind.BYTES

    def choose(union: Union, value: object) -> tuple[int, Any]:
        return EncodeWalk(strict=strict).choose(union, value)

    def again(value: object, prefix: bytes) -> bytes:
        walk = EncodeWalk(strict=strict)
        return prefix + (walk.write_raw(root, value) if is_raw else walk.write(root, value))

    source = encoder_source(root, choose, strict=strict)
    source.namespace["again"] = again
    encode: Encode = source.run(f"encoder of {schema.name or root.kind.value}")["encode"]
    return encode
