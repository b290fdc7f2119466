"""Which values are never shown: those of fields that a contract or a schema declares to be personal or classified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.paths.model import StepKind
from counterfoil.schema.tags.hidden import hidden_by_tags

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.agreements.model import FieldPromise
    from counterfoil.schema.model import Schema
    from counterfoil.schema.paths.model import FieldPath

_PERSONAL: Final = "pii"
_PUBLIC: Final = "public"
EVERYTHING: Final = "*"
"""Stands, in a set of hidden names, for every field."""


def hidden_paths(fields: Iterable[FieldPromise]) -> tuple[FieldPath, ...]:
    """Return the paths of fields that are personal, or classified as anything but public."""
    return tuple(
        each.path for each in fields if each.is_personal or (each.classification or _PUBLIC).casefold() != _PUBLIC
    )


def is_hidden(path: FieldPath, hidden: Iterable[FieldPath]) -> bool:
    """Return whether a path is hidden, or leads to, or through, one that is."""
    return any(path[: len(each)] == each or each[: len(path)] == path for each in hidden)


def hidden_names(schema: Schema, read: ReadSchema) -> frozenset[str]:
    """Return the names of fields that a schema, one of its references or its metadata tags as personal.

    A tag on a whole record, or at a place without a field around it, hides everything.
    """
    if read.schema is None:
        return frozenset()
    by_path = schema.metadata.tags if schema.metadata is not None else {}
    hidden = hidden_by_tags(read.schema, read.references, _is_personal, by_path=by_path)
    names = hidden.names | {path.rpartition(".")[2] for path in hidden.paths}
    return names | {EVERYTHING} if hidden.is_all or hidden.has_types else names


def names_in(path: FieldPath) -> frozenset[str]:
    """Return the names of the fields that a path leads through."""
    return frozenset(step.name for step in path if step.kind is StepKind.MEMBER)


def _is_personal(tag: object) -> bool:
    folded = str(tag).casefold()
    return folded == _PERSONAL or folded.startswith(f"{_PERSONAL}.")
