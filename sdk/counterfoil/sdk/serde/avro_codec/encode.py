"""Encoders: functions from a value to bytes, made of a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from counterfoil.schema.formats.avro.types import Kind
from counterfoil.sdk.serde.avro_codec.encode_code import encoder_source
from counterfoil.sdk.serde.avro_codec.encode_plan import plan_encoding
from counterfoil.sdk.serde.avro_codec.encode_walk import EncodeWalk
from counterfoil.sdk.serde.avro_codec.nodes import encode_nodes
from counterfoil.sdk.serde.tier import find_accelerator, made_when_called

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import Union


class Encode(Protocol):
    """The function that :func:`compile_encoder` returns."""

    def __call__(self, value: object, prefix: bytes = b"", /) -> bytes:
        """Return ``prefix`` and the encoding of ``value``. Raises ``EncodeError`` with path, expected and got."""


def compile_encoder(
    schema: AvroSchema, *, strict: bool = False, takes_indexes: bool = False, exact: bool = True
) -> Encode:
    """Return a function that writes values of ``schema``.

    It accepts the values that a decoder returns, and others: numbers of other libraries, any sequence or mapping, a
    number instead of a date or time. A field that a dict does not have is written as its default, and without one it is
    an error; keys that are no fields are ignored, or with ``strict`` an error. A value of a union is written as the
    branch of its Python type, a dict as the record whose fields it has; where several branches fit, ``("full.name",
    value)`` or the key ``-type`` names the branch. With ``takes_indexes``, a tuple in a union is the index of a branch
    and its value. A top-level ``bytes`` is written without its length. With ``exact`` a value is an error that the type
    holds only in part, such as microseconds for milliseconds; without it the rest is dropped. A float of Python for an
    Avro ``float`` is always the nearest number of 32 bits.

    Compiling takes milliseconds, so store the function. It may be called from many threads. The accelerator runs it
    where it is installed, with the same results (see :mod:`.tier`).

    Source: Apache Avro 1.12 specification, "Binary Encoding".
    """
    root = schema.root
    plan = plan_encoding(root, strict=strict, exact=exact)

    def choose(union: Union, value: object) -> tuple[int, Any]:
        return EncodeWalk(strict=strict, takes_indexes=takes_indexes, exact=exact).choose(union, value)

    def again(value: object, prefix: bytes) -> bytes:
        walk = EncodeWalk(strict=strict, takes_indexes=takes_indexes, exact=exact)
        return prefix + (walk.write_raw(root, value) if root.kind is Kind.BYTES else walk.write(root, value))

    def generate() -> Encode:
        source = encoder_source(plan, choose)
        source.namespace["again"] = again
        encode: Encode = source.run(f"encoder of {schema.name or root.kind.value}")["encode"]
        return encode

    accelerator = find_accelerator()
    if accelerator is None:
        return generate()
    encoder = accelerator.Encoder(encode_nodes(plan, choose), 0, fallback=made_when_called(generate))
    accelerated: Encode = encoder.encode
    return accelerated
