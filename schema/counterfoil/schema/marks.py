"""Tags: the entities that can have them and changes of them, and which tags mark a place of a schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.texts import Pointer

# The entities that can have tags, and changes of their tags.


class EntityKind(StrEnum):
    """The kind of an entity; the values are those of the REST API."""

    RECORD = "sr_record"
    FIELD = "sr_field"


@dataclass(frozen=True, slots=True)
class Entity:
    """An element of a schema that can have tags, by its ``path``: ``ns.Order``, ``ns.Order.id``, ``object.id``."""

    path: str
    kind: EntityKind

    @classmethod
    def named(cls, path: str, kind: str) -> Self:
        """Return the entity of a request; a leading dot is ignored. Raise ``InvalidSchema`` for an unknown kind."""
        try:
            return cls(path.removeprefix("."), EntityKind(kind))
        except ValueError:
            kinds = " or ".join(EntityKind)
            raise InvalidSchema(f"The entity type {kind!r} of {path!r} cannot carry tags; expected {kinds}") from None


@dataclass(frozen=True, slots=True)
class TagEdit:
    """Tags to add and to remove, by entity; tags are added first, then removed."""

    add: Mapping[Entity, tuple[str, ...]] = field(default_factory=dict)
    remove: Mapping[Entity, tuple[str, ...]] = field(default_factory=dict)

    def applied(self, entity: Entity, tags: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tags of ``entity`` after the edit: ``tags``, then the added ones, without the removed ones."""
        kept = dict.fromkeys((*tags, *self.add.get(entity, ())))
        return tuple(tag for tag in kept if tag not in self.remove.get(entity, ()))

    @property
    def entities(self) -> frozenset[Entity]:
        """All entities of the edit."""
        return frozenset({*self.add, *self.remove})


# Paths with wildcards, by which the metadata of a schema assign tags.
#
# Source: Confluent's documentation of data contracts, metadata ``tags``: ``?`` matches one character and ``*`` any
# number of them, without dots; ``**`` matches anything.

_PART: Final = re.compile(r"\*\*|.", re.DOTALL)
_WILDCARDS: Final = re.compile(r"[*?]")
_ANY_NUMBER: Final = ("*", "**")


def matches_path(pattern: str, path: str) -> bool:
    """Return whether a path with wildcards matches ``path``, in time proportional to the product of their lengths.

    >>> matches_path("**.ssn", "shop.Customer.ssn"), matches_path("shop.*.ssn", "shop.a.b.ssn")
    (True, False)
    """
    if not has_wildcards(pattern):
        return pattern == path
    if not path.endswith(_WILDCARDS.split(pattern)[-1]):
        return False  # most paths of most schemas, without a walk
    parts = _PART.findall(pattern)
    reached = _skipping(parts, {0})
    for character in path:
        reached = _skipping(parts, {after for at in reached for after in _after(parts, at, character)})
        if not reached:
            return False
    return len(parts) in reached


def may_match_below(pattern: str, path: str) -> bool:
    """Return whether a path with wildcards may match a path that continues ``path`` by more parts.

    >>> may_match_below("$.m.key", "$.m"), may_match_below("**.ssn", "$.m"), may_match_below("$.n", "$.m")
    (True, True, False)
    """
    parts = _PART.findall(pattern)
    reached = _skipping(parts, {0})
    for character in f"{path}.":
        reached = _skipping(parts, {after for at in reached for after in _after(parts, at, character)})
    return any(at < len(parts) for at in reached)


def has_wildcards(pattern: str) -> bool:
    """Return whether a path has wildcards."""
    return "*" in pattern or "?" in pattern


def _skipping(parts: Sequence[str], reached: set[int]) -> set[int]:
    """Return the places in the pattern that are reached if wildcards for any number of characters match none."""
    waiting = list(reached)
    while waiting:
        at = waiting.pop()
        if at < len(parts) and parts[at] in _ANY_NUMBER and at + 1 not in reached:
            reached.add(at + 1)
            waiting.append(at + 1)
    return reached


def _after(parts: Sequence[str], at: int, character: str) -> Iterator[int]:
    """Yield the places in the pattern that are reached from ``at`` with one character."""
    if at == len(parts):
        return
    part = parts[at]
    if part == "**" or (part == "*" and character != "."):
        yield at
    elif part == character or (part == "?" and character != "."):
        yield at + 1


# Which tags mark a place of a schema, and whether the clients of Confluent look for them there.
#
# A tag marks the values of the element beside which it stands, with everything inside them: a tag of a record, of an
# object or of a message marks all of its fields. Confluent's field rules know the tags beside a field alone, and follow
# some keywords of a schema and not others, so that a :class:`Mark` keeps apart what they know (``own``) and what they
# do not (``outer``, ``is_beyond``). The languages say how a mark changes on the way from the root of a schema to a
# place: ``languages/<language>/marks.py``.
#
# Source of what Confluent's clients reach: the values that the field rules of confluent-kafka 2.16 changed.

TAGS: Final = "confluent:tags"
"""The property with the tags of an element of an Avro or JSON schema."""
ROOT: Final = "$"
"""The full name of the value of a whole message."""

_NONE: Final[frozenset[str]] = frozenset()
_SEPARATORS: Final = re.compile(r"\s*[,;]\s*")


@dataclass(frozen=True, slots=True)
class Mark:
    """The tags of a place on the way from the root of a schema.

    ``full_name`` and ``name`` are those of the nearest field around the place; at the root both are ``$``. ``own`` are
    the tags of that field, ``outer`` the tags of elements around it, of types, and of what a reference leads to.
    ``is_beyond``: Confluent's clients do not look at the place at all. ``opened`` are the names of the recursive types
    that the way has entered.
    """

    full_name: str = ROOT
    name: str = ROOT
    own: frozenset[str] = _NONE
    outer: frozenset[str] = _NONE
    is_beyond: bool = False
    opened: frozenset[str] = _NONE

    @property
    def tags(self) -> frozenset[str]:
        """All tags of the place."""
        return self.own | self.outer

    def is_reached(self, wanted: frozenset[str]) -> bool:
        """Return whether Confluent's clients find one of the tags, or the place itself if no tag is wanted."""
        if self.is_beyond:
            return False
        return bool(wanted & self.own) if wanted else self.full_name != ROOT

    def joined(self, outer: frozenset[str]) -> Mark:
        """Return the mark with more tags that Confluent's clients do not know."""
        return self if outer <= self.outer else replace(self, outer=self.outer | outer)

    def beyond(self) -> Mark:
        """Return the mark of a place at which Confluent's clients do not look."""
        return self if self.is_beyond else replace(self, is_beyond=True)


@dataclass(frozen=True, slots=True)
class TaggedPlace:
    """A place of a schema whose values have a type, with its tags.

    ``type`` is the type by the names of field rules: ``STRING``, ``BYTES``, ``INT`` … ``RECORD`` for an object that
    declares nothing inside, and ``ANY`` for values of every type. ``where`` says in words how the place is reached from
    the nearest field. ``pointer`` leads to the element in the text of the schema. ``logical_type`` is that of a string
    or of bytes whose values are no texts or bytes. ``may_be`` returns False for a text that is certainly no valid value
    of the place; None if every text is valid.
    """

    mark: Mark
    type: str
    where: str = ""
    pointer: Pointer = ()
    logical_type: str = ""
    may_be: Callable[[str], bool] | None = field(default=None, compare=False, repr=False)

    @property
    def tags(self) -> frozenset[str]:
        """All tags of the place."""
        return self.mark.tags

    @property
    def full_name(self) -> str:
        """The full name of the nearest field."""
        return self.mark.full_name

    def is_reached(self, wanted: frozenset[str]) -> bool:
        """Return whether Confluent's clients find one of the tags, or the place itself if no tag is wanted."""
        return self.mark.is_reached(wanted)


class FieldTags:
    """Finds the tags of a field by its full name, and those of a type by the type's.

    ``inline`` are the tags in the texts of schemas by the full names of fields, ``types`` those of types; ``by_path``
    are the tags of a schema's metadata.
    """

    def __init__(
        self,
        inline: Mapping[str, frozenset[str]],
        by_path: Mapping[str, Sequence[str]],
        types: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        self._inline = inline
        self._by_path = by_path
        self._types = types or {}

    @property
    def by_path(self) -> Mapping[str, Sequence[str]]:
        """The tags that the metadata assign, by path."""
        return self._by_path

    @property
    def has_paths(self) -> bool:
        """Whether the metadata assign tags, so that the tags of a place depend on its full name."""
        return bool(self._by_path)

    def joined(self, other: FieldTags) -> FieldTags:
        """Return the tags that a field has here or in another schema."""
        paths = {*self._by_path, *other._by_path}
        by_path = {path: (*self._by_path.get(path, ()), *other._by_path.get(path, ())) for path in paths}
        return FieldTags(_both(self._inline, other._inline), by_path, _both(self._types, other._types))

    def of(self, full_name: str, inline: Iterable[str] = ()) -> frozenset[str]:
        """Return the tags of a field; ``inline`` are tags that were found beside it."""
        return self._inline.get(full_name, _NONE).union(inline, self.given(full_name))

    def of_type(self, full_name: str, inline: Iterable[str] = ()) -> frozenset[str]:
        """Return the tags of a type with a name; ``inline`` are tags that were found in it."""
        return self._types.get(full_name, _NONE).union(inline, self.given(full_name))

    def given(self, full_name: str) -> frozenset[str]:
        """Return the tags that the metadata assign to a full name."""
        if not self._by_path:
            return _NONE
        return frozenset(tag for path, tags in self._by_path.items() if matches_path(path, full_name) for tag in tags)


def _both(one: Mapping[str, frozenset[str]], other: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    return {name: one.get(name, _NONE) | other.get(name, _NONE) for name in {*one, *other}}


def tags_in(properties: Mapping[str, object]) -> frozenset[str]:
    """Return the tags in the properties of an element, also where they are no list of texts.

    Confluent's clients know no tags there: one text, which may list several, an object, or a list in the list.
    """
    written = properties.get(TAGS)
    if written is None or (isinstance(written, list) and not any(isinstance(each, dict | list) for each in written)):
        return known_tags_in(properties)
    return frozenset(_tags_written(written))


def _tags_written(written: object) -> Iterator[str]:
    """Yield everything in a value that may be meant as a tag."""
    if isinstance(written, dict):
        for key, value in written.items():
            yield str(key)
            yield from _tags_written(value) if isinstance(value, str | list | dict) else ()
    elif isinstance(written, list):
        for each in written:
            yield from _tags_written(each)
    elif written is not None:
        yield str(written)
        yield from _SEPARATORS.split(str(written))


def known_tags_in(properties: Mapping[str, object]) -> frozenset[str]:
    """Return the tags in the properties of an element that are a list, as Confluent's clients read them."""
    written = properties.get(TAGS)
    return frozenset(str(tag) for tag in written) if isinstance(written, list) else _NONE


@dataclass(slots=True)
class WalkLimit:
    """A limit for walks over a schema, so that their cost is bounded whatever the schema is."""

    left: int = 20_000

    def take(self) -> bool:
        """Count one step; return False once there are none left."""
        self.left -= 1
        return self.left >= 0
