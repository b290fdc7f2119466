"""Tags that mark values which the field rules of Confluent's clients do not reach, and paths that mark nothing."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.schema.formats.table import format_for
from counterfoil.schema.marks import ROOT, FieldTags
from counterfoil.schema.path_patterns import has_wildcards, may_match_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.pointer import Pointer

_MOST: Final = 100
_OPEN: Final = frozenset({"RECORD", "COMBINED", "MAP"})
_ANY_NAME: Final = ".*"


@dataclass(frozen=True, slots=True)
class UnreachedTags:
    """Tags at a place where no field rule finds them: ``place`` in words, and the ``pointer`` of its element."""

    place: str
    tags: tuple[str, ...]
    pointer: Pointer = ()

    @property
    def text(self) -> str:
        """The finding in one sentence."""
        tags = ", ".join(repr(tag) for tag in self.tags)
        return (
            f"{tags} marks {self.place}, where the field rules of Confluent's clients change nothing, so that a rule "
            "ENCRYPT with this tag is refused"
        )


def unreached_tags(schema: ParsedSchema, by_path: Mapping[str, Sequence[str]]) -> list[UnreachedTags]:
    """Return the places of a schema, at most 100, with tags that Confluent's clients do not find there.

    ``by_path`` are the tags of the schema's metadata.
    """
    found: dict[tuple[str, tuple[str, ...]], UnreachedTags] = {}
    for each in format_for(schema.schema_type).places(schema, FieldTags({}, by_path)):
        missed = (
            ()
            if each.type == "NULL"
            else tuple(sorted(tag for tag in each.mark.tags if not each.is_reached(frozenset({tag}))))
        )
        if missed:
            field = "the value itself" if each.full_name == ROOT else f"the field {each.full_name}"
            place = f"what is {each.where} {field}" if each.where else field
            found.setdefault((place, missed), UnreachedTags(place, missed, each.pointer))
        if len(found) == _MOST:
            break
    return list(found.values())


class Place(Protocol):
    """A place of a schema: the full name of the nearest field, its type, and its tags."""

    @property
    def full_name(self) -> str:
        """The full name of the nearest field."""

    @property
    def type(self) -> str:
        """The name of the type."""

    @property
    def tags(self) -> frozenset[str]:
        """The tags of the place."""


@dataclass(frozen=True, slots=True)
class UnnamedPath:
    """A path of a schema's metadata that is no name in the schema, with the ``tags`` that it would assign.

    ``is_exact``: it has no wildcards, and the schema has what is around the field that it names. ``nearest`` is a
    similar name.
    """

    path: str
    tags: tuple[str, ...]
    is_exact: bool
    nearest: str | None

    @property
    def text(self) -> str:
        """The finding in one sentence."""
        tags = ", ".join(repr(tag) for tag in self.tags)
        meant = f"; the most similar name is {self.nearest!r}" if self.nearest else ""
        return (
            f"the path {self.path!r} of the metadata names no field of the schema, so that {tags} marks nothing{meant}"
        )


def unnamed_paths(
    by_path: Mapping[str, Sequence[str]],
    places: Callable[[FieldTags], Iterable[Place]],
    *,
    most: int | None = None,
) -> list[UnnamedPath]:
    """Return the paths of a schema's metadata that assign their tags to nothing, at most so many.

    ``places`` returns the places of the schema whose fields have certain tags. A path into an object of JSON that
    does not list its properties may name one. The similar name of each is searched among all names, so that many take
    long.
    """
    if not by_path:
        return []
    paths = [*by_path]
    found = [*places(FieldTags({}, {path: (str(index),) for index, path in enumerate(paths)}))]
    named = {tag for each in found for tag in each.tags}
    names = {each.full_name for each in found}
    unlisted = {name.partition(_ANY_NAME)[0] for name in names if _ANY_NAME in name}
    unlisted |= {each.full_name for each in found if each.type in _OPEN}
    missing = [
        path
        for index, path in enumerate(paths)
        if str(index) not in named and not any(may_match_below(path, name) for name in unlisted)
    ]
    return [
        UnnamedPath(path, tuple(by_path[path]), _is_exact(path, names), next(iter(_near(path, names)), None))
        for path in missing[:most]
    ]


def _is_exact(path: str, names: set[str]) -> bool:
    around, dot, _ = path.rpartition(".")
    inside = f"{around}."
    return not has_wildcards(path) and bool(dot) and any(each.startswith(inside) for each in names)


def _near(path: str, names: set[str]) -> list[str]:
    return get_close_matches(path, sorted(names - {ROOT}), n=1) if len(names) <= _MOST * _MOST else []


def unnamed_paths_of(
    schema: ParsedSchema, by_path: Mapping[str, Sequence[str]], *, most: int | None = None
) -> list[UnnamedPath]:
    """Return the paths of a schema's metadata that assign their tags to nothing, at most so many."""
    return unnamed_paths(by_path, lambda tags: format_for(schema.schema_type).places(schema, tags), most=most)


def has_tags(text: str, by_path: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a schema may have tags, by its text alone."""
    return bool(by_path) or "confluent:tags" in text or "_meta)" in text
