"""Avro names: the full name of a written name, and the validity of names.

Source: Apache Avro 1.12 specification, "Names".
"""

from __future__ import annotations

from typing import Final

from counterfoil.schema.formats.avro.types import PRIMITIVE_KINDS

PRIMITIVE_NAMES: Final = frozenset(kind.value for kind in PRIMITIVE_KINDS)


def is_name(text: str) -> bool:
    """Return whether ``text`` is one simple name, without dots."""
    return text.isascii() and text.isidentifier()


def is_full_name(text: str) -> bool:
    """Return whether ``text`` consists of simple names joined by dots."""
    return all(map(is_name, text.split(".")))


def split_name(written: str, namespace: str | None) -> tuple[str, str | None]:
    """Return simple name and namespace of a written name; a dot in the name overrides ``namespace``.

    The namespace is None for the null namespace, never ``""``.
    """
    space, dot, name = written.rpartition(".")
    return name, (space if dot else namespace) or None


def full_name(written: str, namespace: str | None) -> str:
    """Return the full name of a written name inside ``namespace``."""
    name, space = split_name(written, namespace)
    return f"{space}.{name}" if space else name
