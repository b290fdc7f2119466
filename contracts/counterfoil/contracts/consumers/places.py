"""The place of a finding about a topic: in a schema file, in the contract, or in the file of a consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.table import format_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.paths import KEY, PathNotFound, StepKind, resolve_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.contracts.consumers.judging import Found
    from counterfoil.contracts.consumers.pairs import TopicChange
    from counterfoil.schema.agreements.model import FieldPromise
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position
    from counterfoil.schema.reads.model import Offer, ReadFinding

_PARTS_BY_RULE: Final[Mapping[str, tuple[str, ...]]] = {
    "expectation-broken": ("logicalTypeOptions", "enum"),
    "expectation-unbacked": ("logicalTypeOptions", "enum", "unit"),
    "unit-changed": ("unit",),
    "enum-symbol-added-closed": ("enum",),
    "enum-meaning-changed": ("enum",),
    "pii-tag-removed": ("tags",),
    "key-changed": ("messageKey",),
    "header-missing": ("headers",),
}
"""The rules about what a contract promises, with the keys that promise it; the others are about its schemas."""


_NULLABLE: Final = "consumer-nullable"
_TYPE: Final = (("type",),)
_PARTS_OF_TYPE: Final[Mapping[str, tuple[Pointer, ...]]] = {
    "consumer-type-narrowed": _TYPE,
    _NULLABLE: _TYPE,
    "consumer-enum-unknown": (("type", "symbols"), ("enum",), *_TYPE),
}
"""The rules about the type of a field, with the parts of its declaration in JSON that may say it."""


def place_of(change: TopicChange, found: Found) -> tuple[str, Position | None]:
    """Return the file of a finding, and the place in it."""
    finding = found.finding
    if found.is_by_consumer and found.consumer is not None:
        return found.consumer.path, finding.position
    if finding.rule in _PARTS_BY_RULE:
        return change.after.path, _in_promise(change, finding)
    later = change.later
    is_key = finding.element[:1] == (KEY,)
    path = change.after.key_path if is_key else change.after.value_path
    schema = None if later is None else later.key_schema if is_key else later.schema
    if path is None or schema is None:
        return change.after.path, change.after.promise.position
    if finding.pointer:
        return path, _of_type(schema, finding)
    inside = finding.element[1:] if is_key else finding.element
    return path, place_in_schema(schema, _earlier_schema(change.earlier, is_key=is_key), inside)


def _of_type(schema: ParsedSchema, finding: ReadFinding) -> Position | None:
    """Return the place of what a finding is about: where it is the type of a field, that of the type, if it has one."""
    pointer = finding.pointer
    is_of_type = finding.rule != _NULLABLE or schema.schema_type is SchemaType.AVRO  # elsewhere it may be `required`
    if is_of_type and not format_for(schema.schema_type).pointers_are_names:
        for steps in _PARTS_OF_TYPE.get(finding.rule, ()):
            if (found := schema.locate((*pointer, *steps))) != schema.locate((*pointer, *steps[:-1])):
                return found
    return schema.locate(pointer)


def _earlier_schema(offer: Offer | None, *, is_key: bool) -> ParsedSchema | None:
    if offer is None:
        return None
    return offer.key_schema if is_key else offer.schema


def _in_promise(change: TopicChange, finding: ReadFinding) -> Position:
    """Return the place of what is promised now: of the value, else of the key that has changed, else of the field."""
    promise = change.after.promise
    now = promise.field(finding.element)
    if now is None:
        places, around = promise.places, promise.position
    else:
        places, around = now.places, now.position
    was = change.before.promise.field(finding.element) if change.before is not None else None
    if finding.rule.startswith("enum-") and now is not None and was is not None:
        known = was.enum or ()
        changed = (each.position for each in now.enum or () if each not in known and each.position is not None)
        return next(changed, around)
    is_header = finding.element[:1] and finding.element[0].kind is StepKind.HEADER
    parts = ("headers",) if is_header else _PARTS_BY_RULE[finding.rule]
    if was is not None and now is not None:
        parts = tuple(each for each in parts if _part(was, each) != _part(now, each)) or parts
    return next((places[each] for each in parts[:1] if each in places), around)


def _part(promise: FieldPromise, key: str) -> object:
    """Return what a key of a field promises."""
    parts: Mapping[str, object] = {
        "logicalTypeOptions": (promise.range, promise.pattern),
        "enum": promise.enum,
        "unit": promise.unit,
        "tags": promise.tags,
    }
    return parts[key]


def is_about_promises(rule: str) -> bool:
    """Return whether findings of a rule are about what a contract promises, and not about its schema."""
    return rule in _PARTS_BY_RULE


def place_in_schema(schema: ParsedSchema, earlier: ParsedSchema | None, path: FieldPath) -> Position | None:
    """Return the place of a field; for one that is gone, that of the part which contained it."""
    around, pointer = _nearest(schema, path)
    if around == path:
        return schema.locate(pointer)
    before, inside = _pointer(earlier, around), _pointer(earlier, path[: len(around) + 1])
    if inside and format_for(schema.schema_type).pointers_are_names:
        return schema.locate(inside[:-1])
    if inside and inside[: len(before)] == before:
        return schema.locate((*pointer, *inside[len(before) : -1]))
    return schema.locate(pointer)


def _nearest(schema: ParsedSchema, path: FieldPath) -> tuple[FieldPath, Pointer]:
    """Return the longest part of a path that the text of the schema has, with its place."""
    for length in range(len(path), 0, -1):
        pointer = _pointer(schema, path[:length])
        if pointer:
            return path[:length], pointer
    return (), ()


def _pointer(schema: ParsedSchema | None, path: FieldPath) -> Pointer:
    try:
        return resolve_path(schema, path).pointer if schema is not None else ()
    except PathNotFound:
        return ()
