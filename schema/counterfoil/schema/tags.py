"""Tags in schemas: finding, changing, the fields that they hide, those that Confluent's clients do not reach."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Protocol

from counterfoil.schema.datum import Json
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.marks import (
    ROOT,
    Entity,
    EntityKind,
    FieldTags,
    TagEdit,
    TaggedPlace,
    has_wildcards,
    matches_path,
    may_match_below,
    tags_in,
)
from counterfoil.schema.model import ResolvedReference, SchemaType
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.texts import Pointer

# Finding and changing the tags of a schema of any language.

_SHOWN_ENTITIES = 20


def find_tags(schema: ParsedSchema) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return every entity of ``schema`` that can have tags, in the order of its text, each with its tags."""
    return language_for(schema.schema_type).find_tags(schema)


def edit_tags(schema: ParsedSchema, edit: TagEdit) -> str:
    """Return the canonical text of ``schema`` with its tags changed.

    Raises ``InvalidSchema`` for an entity that is not in the schema.
    """
    _check_entities(edit, [entity for entity, _ in find_tags(schema)])
    return language_for(schema.schema_type).edit_tags(schema, edit)


def _check_entities(edit: TagEdit, known: Iterable[Entity]) -> None:
    there = list(known)
    for entity in sorted(edit.entities.difference(there), key=lambda each: each.path):
        of_kind = [each.path for each in there if each.kind is entity.kind]
        shown = ", ".join(of_kind[:_SHOWN_ENTITIES]) or "none"
        raise InvalidSchema(
            f"The schema has no {entity.kind} {entity.path!r} that could carry tags; it has {shown}"
            f"{' and more' if len(of_kind) > _SHOWN_ENTITIES else ''}"
        )


# Tags by path: those that a schema's metadata assigns to every entity whose path matches.


def tags_by_entity(schema: ParsedSchema, by_path: Mapping[str, Sequence[str]]) -> dict[Entity, tuple[str, ...]]:
    """Return the tags of every entity of ``schema`` that has some: its own first, then those that ``by_path`` assigns.

    ``by_path`` are the tags of a schema's metadata, by path with wildcards: ``**.ssn``, ``ns.Order.*``.
    """
    found: dict[Entity, tuple[str, ...]] = {}
    for entity, inline in find_tags(schema):
        given = (tag for path, tags in by_path.items() if matches_path(path, entity.path) for tag in tags)
        tags = tuple(dict.fromkeys((*inline, *given)))
        if tags:
            found[entity] = tags
    return found


# Which fields of a schema have a tag that forbids to show or to keep their values.
#
# It fails closed: a tag at a place without a field of its own hides the nearest field around it, or everything.

_ROOT_OBJECT: Final = "object"
_COMBINED: Final = frozenset({"array", "allof", "anyof", "oneof"})
_ANY_PATH_PART: Final = "*"


@dataclass(frozen=True, slots=True)
class Hidden:
    """The hidden fields of a schema.

    ``paths`` are those of entities, such as ``shop.Customer.email`` and ``shop.Address``. For JSON, ``names`` are the
    names of hidden properties, wherever they are; with ``is_all``, everything is hidden. ``has_types``: a tag is that
    of a whole record, object or message.
    """

    paths: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    is_all: bool = False
    has_types: bool = False


def hidden_by_tags(
    schema: ParsedSchema,
    references: Sequence[ResolvedReference],
    is_wanted: Callable[[str], bool],
    *,
    by_path: Mapping[str, Sequence[str]],
) -> Hidden:
    """Return the fields of ``schema`` and of its references that have a tag for which ``is_wanted`` holds.

    ``by_path`` are the tags of the schema's metadata.
    """

    def has(tags: Iterable[object]) -> bool:
        return any(isinstance(tag, str) and is_wanted(tag) for tag in tags)

    found = [entity for entity, tags in tags_by_entity(schema, by_path).items() if has(tags)]
    marked = [
        (each.mark.full_name, each.mark.name)
        for each in language_for(schema.schema_type).places(schema, FieldTags({}, by_path))
        if has(each.mark.tags)
    ]
    if schema.schema_type is SchemaType.JSON:
        return _of_json(schema, found, marked, has)
    for index, reference in enumerate(references):
        inner = language_for(schema.schema_type).parse(
            reference.text, references[:index], validation=Validation.LENIENT
        )
        found += [entity for entity, tags in find_tags(inner) if has(tags)]
    paths = {*(entity.path for entity in found), *(full_name for full_name, _ in marked)}
    has_types = any(entity.kind is EntityKind.RECORD for entity in found)
    return Hidden(frozenset(paths - {ROOT}), is_all=ROOT in paths, has_types=has_types)


def _of_json(
    schema: Json, found: Sequence[Entity], marked: Iterable[tuple[str, str]], has: Callable[[Iterable[Json]], bool]
) -> Hidden:
    documents = (schema.document, *schema.references.values())
    names: set[str | None] = {entity.path.rpartition(".")[2] for entity in found if entity.kind is EntityKind.FIELD}
    for entity in found:
        if entity.kind is EntityKind.RECORD:
            inside = [part for part in entity.path.split(".") if part not in _COMBINED and not part.isdecimal()]
            named = [part for part in inside if part != _ROOT_OBJECT]
            names.add(named[-1] if named else None)
    for document in documents:
        names.update(_tagged(document, has, None))
    declared = {name for document in documents for name in _declared(document)}
    names.update(_nearest(full_name, name, declared) for full_name, name in marked)
    has_types = any(entity.kind is EntityKind.RECORD for entity in found)
    return Hidden(
        names=frozenset(name for name in names if name is not None), is_all=None in names, has_types=has_types
    )


def _nearest(full_name: str, name: str, declared: set[str]) -> str | None:
    """Return the name of a field, or of the nearest field around it that a schema lists; None without one."""
    if name in declared:
        return name
    parts = full_name.removeprefix(f"{ROOT}.").split(".")
    while parts and parts[-1] == _ANY_PATH_PART:
        parts.pop()
    return parts[-1] if parts and parts[-1] in declared else None


def _declared(node: object) -> Iterator[str]:
    """Yield the names of all properties that a document lists."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            listed = each.get("properties")
            yield from listed if isinstance(listed, dict) else ()
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _tagged(node: object, has: Callable[[Iterable[Json]], bool], around: str | None) -> Iterator[str | None]:
    """Yield the name of the property around each tag; None for a tag of a definition, or of the whole schema."""
    if isinstance(node, list):
        for each in node:
            yield from _tagged(each, has, around)
    if not isinstance(node, dict):
        return
    if has(tags_in(node)):
        yield around
    for keyword, inner in node.items():
        if keyword == "properties" and isinstance(inner, dict):
            for name, each in inner.items():
                yield from _tagged(each, has, name)
        else:
            yield from _tagged(inner, has, None if keyword in ("$defs", "definitions") else around)


# Texts like the ciphertexts that a rule ENCRYPT writes: base64 of bytes without any order.

LEAST_BYTES: Final = 16
"""How many bytes a ciphertext has more than its text with the cipher that adds the fewest (AES256_SIV)."""

_EACH_LENGTH_TO: Final = 180
_FURTHER_LENGTHS: Final = (250, 400, 700, 1_500, 3_000, 10_000, 100_000)


def accepts_ciphertexts(may_be: Callable[[str], bool] | None, least_bytes: int = LEAST_BYTES) -> bool:
    """Return False if ``may_be`` returns False for whatever a text is encrypted to.

    ``least_bytes`` is the size of the ciphertext of an empty text.
    """
    return may_be is None or any(may_be(each) for each in _ciphertexts(least_bytes))


def _ciphertexts(least_bytes: int) -> Iterator[str]:
    """Yield texts as those are that a rule writes, of each length for short texts and of some for long ones."""
    lengths = (*range(_EACH_LENGTH_TO), *_FURTHER_LENGTHS)
    for length in lengths:
        data = hashlib.shake_128(length.to_bytes(4, "big")).digest(least_bytes + length)
        yield b64encode(data).decode("ascii")


# Tags that mark values which the field rules of Confluent's clients do not reach, and paths that mark nothing.

_MOST: Final = 100
_ENCRYPTED: Final = ("STRING", "BYTES")
_DECIDED_BY_VALUE: Final = ("COMBINED", "RECORD", "ARRAY", "MAP")
_OPEN: Final = frozenset({"RECORD", "COMBINED", "MAP"})
_ANY_NAME_PATTERN: Final = ".*"
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
    for each in language_for(schema.schema_type).places(schema, FieldTags({}, by_path)):
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
        for each in language_for(schema.schema_type).places(schema, FieldTags({}, by_path))
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


class TagPlace(Protocol):
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
    places: Callable[[FieldTags], Iterable[TagPlace]],
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
    unlisted = {name.partition(_ANY_NAME_PATTERN)[0] for name in names if _ANY_NAME_PATTERN in name}
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


def _marking(paths: Iterable[str], places: Callable[[FieldTags], Iterable[TagPlace]]) -> frozenset[str]:
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
    return unnamed_paths(by_path, lambda tags: language_for(schema.schema_type).places(schema, tags), most=most)


def has_tags(text: str, by_path: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a schema may have tags, by its text alone."""
    return bool(by_path) or "confluent:tags" in text or "_meta)" in text
