"""Tags that mark values which the field rules of Confluent's clients do not reach, and paths that mark nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.schema.formats.table import format_for
from counterfoil.schema.marks import ROOT, FieldTags
from counterfoil.schema.path_patterns import has_wildcards, may_match_below
from counterfoil.schema.tags.ciphertexts import accepts_ciphertexts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from counterfoil.schema.marks import TaggedPlace
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.pointer import Pointer

_MOST: Final = 100
_ENCRYPTED: Final = ("STRING", "BYTES")
_DECIDED_BY_VALUE: Final = ("COMBINED", "RECORD", "ARRAY", "MAP")
_OPEN: Final = frozenset({"RECORD", "COMBINED", "MAP"})
_ANY_NAME: Final = ".*"
_WILDCARD: Final = re.compile(r"[*?]")
_STEP_END: Final = re.compile(r"[.\[]")


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
            place = _in_words(each)
            found.setdefault((place, missed), UnreachedTags(place, missed, each.pointer))
        if len(found) == _MOST:
            break
    return list(found.values())


@dataclass(frozen=True, slots=True)
class UnencryptableTags:
    """Tags at a place whose values no rule ENCRYPT can encrypt, with the ``reason``."""

    place: str
    tags: tuple[str, ...]
    reason: str
    pointer: Pointer = ()

    @property
    def text(self) -> str:
        """The finding in one sentence."""
        tags = ", ".join(repr(tag) for tag in self.tags)
        return f"{tags} marks {self.place}, {self.reason}, so that a rule ENCRYPT with this tag is refused"


def unencryptable_tags(schema: ParsedSchema, by_path: Mapping[str, Sequence[str]]) -> list[UnencryptableTags]:
    """Return the places of a schema, at most 100, with tags whose values cannot be encrypted at all.

    Those that a field may have beside a string or bytes are none. ``by_path`` are the tags of the schema's metadata.
    """
    tagged = [
        each
        for each in format_for(schema.schema_type).places(schema, FieldTags({}, by_path))
        if each.tags and each.type not in ("NULL", *_DECIDED_BY_VALUE)
    ]
    fit = {each.full_name for each in tagged if each.type in _ENCRYPTED and not each.logical_type}
    found: dict[tuple[str, tuple[str, ...]], UnencryptableTags] = {}
    for each in tagged:
        reason = _unencryptable(each, is_beside_text=each.full_name in fit)
        if reason and len(found) < _MOST:
            tags, place = tuple(sorted(each.tags)), _in_words(each)
            found.setdefault((place, tags), UnencryptableTags(place, tags, reason, each.pointer))
    return list(found.values())


def _unencryptable(place: TaggedPlace, *, is_beside_text: bool) -> str:
    """Return why the values of a place cannot be encrypted; an empty text if they can, or may."""
    if place.type == "KEY":
        return "which are names"
    if place.type not in _ENCRYPTED:
        return "" if is_beside_text else f"whose type is {place.type}"
    if place.logical_type:
        return f"which has the logical type {place.logical_type}"
    return "" if accepts_ciphertexts(place.may_be) else "whose schema accepts no ciphertext (maxLength, pattern, …)"


def _in_words(place: TaggedPlace) -> str:
    field = "the value itself" if place.full_name == ROOT else f"the field {place.full_name}"
    return f"what is {place.where} {field}" if place.where else field


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

    ``is_exact``: it is certainly a mistake, since it is about this schema. It leads into a field or a type of the
    schema, is the end of a field's full name, or :func:`_is_exact` says so. ``nearest`` is a similar name.
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
    missing = missing[:most]
    meant = _marking([each for path in missing for each in _meant_by(path)], places) if missing else frozenset()
    return [
        UnnamedPath(
            path,
            tuple(by_path[path]),
            not meant.isdisjoint(_meant_by(path)) or _is_exact(path, names),
            next(iter(_near(path, names)), None),
        )
        for path in missing
    ]


def _marking(paths: Iterable[str], places: Callable[[FieldTags], Iterable[Place]]) -> frozenset[str]:
    """Return those of the paths that name a field or a type of the schema."""
    found = {tag for each in places(FieldTags({}, {path: (path,) for path in paths})) for tag in each.tags}
    return frozenset(found)


def _meant_by(path: str) -> list[str]:
    """Return paths that name something in a schema for which a path is meant: what is around its field, and its end.

    >>> _meant_by("shop.Order.lines.*.price"), _meant_by("$.lines[*].price"), _meant_by("Order.id")
    (['shop', 'shop.Order', 'shop.Order.lines'], ['$.lines'], ['Order', '**.Order.id'])
    """
    fixed = _WILDCARD.split(path, maxsplit=1)[0]
    around = [fixed[: each.start()] for each in _STEP_END.finditer(fixed)]
    return [*(each for each in around if each not in ("", ROOT)), *([] if has_wildcards(path) else [f"**.{path}"])]


def _is_exact(path: str, names: set[str]) -> bool:
    """Return whether a path that names nothing is certainly a mistake, and not about another schema.

    It is a path of JSON, and the schema has no field with such a name; or it has no wildcards, and the schema has
    fields beside the one that it names, or there is a dot too much.
    """
    of_json = f"{ROOT}."
    if path.startswith(of_json) and not any(each.startswith(of_json) for each in names):
        return True
    if has_wildcards(path):
        return False
    around = path.rpartition(".")[0]
    if ".." in path or path.startswith("."):
        return True
    return bool(around) and any(each.startswith(f"{around}.") for each in names)


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
