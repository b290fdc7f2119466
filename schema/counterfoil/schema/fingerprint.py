"""Identities of schemas: the registry's content guid, and Avro's canonical form with its fingerprints.

Source: the content hash of Confluent Schema Registry 8.5 (``guid`` of the REST API); Apache Avro 1.12 specification,
"Parsing Canonical Form for Schemas" and "Schema Fingerprints".
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from counterfoil.schema.languages.avro.printing import print_canonical_form
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


_PRESENT: Final = b"\x01"
_VERSION_SIZE_BYTES: Final = 4
_RABIN_EMPTY: Final = 0xC15D213AA4D7A795
_BYTE_VALUES: Final = 256
_BYTES_AT_ONCE: Final = 8
_REMEMBERED_BYTES: Final = 64


def content_guid(
    text: str,
    references: Iterable[Reference] = (),
    metadata: Metadata | None = None,
    rule_set: RuleSet | None = None,
) -> uuid.UUID:
    """Return the guid of a schema's content, which is the same in every registry.

    ``text`` is the canonical text. Metadata and rules are included if given, even when they are empty; schema type and
    subject are not.

    >>> str(content_guid('"string"'))
    '095d71cf-1255-6b9d-5e33-0ad575b3df5d'
    """
    digest = hashlib.md5(text.encode(), usedforsecurity=False)
    for part in _parts(references, metadata, rule_set):
        digest.update(part if isinstance(part, bytes) else part.encode())
    return uuid.UUID(bytes=digest.digest())


def parsing_canonical_form(schema: AvroSchema) -> str:
    """Return Avro's Parsing Canonical Form: the parts that affect readers of data, in one spelling.

    Docs, aliases, defaults and properties are not in it; every name is full and every type is declared, those that
    come from references too.
    """
    return print_canonical_form(schema.root)


def rabin_fingerprint(schema: AvroSchema) -> bytes:
    """Return CRC-64-AVRO of the canonical form: 8 bytes, little-endian, as in single-object encoding."""
    return _rabin(parsing_canonical_form(schema).encode()).to_bytes(8, "little")


def md5_fingerprint(schema: AvroSchema) -> bytes:
    """Return MD5 of the canonical form: 16 bytes."""
    return hashlib.md5(parsing_canonical_form(schema).encode(), usedforsecurity=False).digest()


def sha256_fingerprint(schema: AvroSchema) -> bytes:
    """Return SHA-256 of the canonical form: 32 bytes."""
    return hashlib.sha256(parsing_canonical_form(schema).encode()).digest()


def all_fingerprints(schema: AvroSchema) -> tuple[bytes, bytes, bytes]:
    """Return CRC-64-AVRO, MD5 and SHA-256 of the canonical form, which is printed once for all."""
    form = parsing_canonical_form(schema).encode()
    md5 = hashlib.md5(form, usedforsecurity=False).digest()
    return _rabin(form).to_bytes(8, "little"), md5, hashlib.sha256(form).digest()


def _parts(
    references: Iterable[Reference], metadata: Metadata | None, rule_set: RuleSet | None
) -> Iterator[str | bytes]:
    """Yield the parts that are hashed after the text, in order and without separators."""
    for reference in references:
        yield reference.name
        yield reference.subject
        yield reference.version.to_bytes(_VERSION_SIZE_BYTES, "big", signed=True)
    if metadata is not None:
        yield _PRESENT
        yield from _metadata_parts(metadata)
    if rule_set is not None:
        yield _PRESENT
        for rule in rule_set.rules:
            yield from _rule_parts(rule)
        yield rule_set.enable_at or ""


def _metadata_parts(metadata: Metadata) -> Iterator[str]:
    for path in sorted(metadata.tags):
        yield path
        yield from sorted(metadata.tags[path])
    yield from _pairs(metadata.properties)
    yield from sorted(metadata.sensitive)


def _rule_parts(rule: Rule) -> Iterator[str | bytes]:
    yield from (rule.name, rule.doc or "", rule.kind, rule.mode, rule.type or "")
    yield from sorted(rule.tags)
    yield from _pairs(rule.params)
    yield from (rule.expr or "", rule.on_success or "", rule.on_failure or "")
    if rule.disabled:
        yield _PRESENT


def _pairs(values: Mapping[str, str]) -> Iterator[str]:
    for key in sorted(values):
        yield key
        yield values[key]


def _rabin(data: bytes) -> int:
    """Return the fingerprint as the specification defines it.

    Versions of a schema begin with the same bytes, mostly: what those lead to is remembered.
    """
    fingerprint, whole = _RABIN_EMPTY, len(data) - len(data) % _REMEMBERED_BYTES
    for at in range(0, whole, _REMEMBERED_BYTES):
        fingerprint = _rabin_after(fingerprint, data[at : at + _REMEMBERED_BYTES])
    for byte in data[whole:]:
        fingerprint = (fingerprint >> 8) ^ _RABIN_TABLE[(fingerprint ^ byte) & 0xFF]
    return fingerprint


@lru_cache(maxsize=4096)
def _rabin_after(fingerprint: int, data: bytes) -> int:
    """Return the fingerprint after further bytes, whose number is a multiple of eight.

    Eight at a time take a quarter of the time: a step of a byte is linear, so that eight steps are one look-up each.
    """
    t7, t6, t5, t4, t3, t2, t1, t0 = _rabin_tables()
    for at in range(0, len(data), _BYTES_AT_ONCE):
        given = fingerprint ^ int.from_bytes(data[at : at + _BYTES_AT_ONCE], "little")
        a, b, c, d, e, f, g, h = given.to_bytes(_BYTES_AT_ONCE, "little")
        fingerprint = t7[a] ^ t6[b] ^ t5[c] ^ t4[d] ^ t3[e] ^ t2[f] ^ t1[g] ^ t0[h]
    return fingerprint


@cache
def _rabin_tables() -> list[tuple[int, ...]]:
    """Return the tables for a byte with seven, six … and no bytes after it."""
    found = [_RABIN_TABLE]
    for _ in range(_BYTES_AT_ONCE - 1):
        found.append(tuple((value >> 8) ^ _RABIN_TABLE[value & 0xFF] for value in found[-1]))
    return found[::-1]


def _rabin_entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (_RABIN_EMPTY if value & 1 else 0)
    return value


_RABIN_TABLE: Final = tuple(_rabin_entry(value) for value in range(_BYTE_VALUES))
