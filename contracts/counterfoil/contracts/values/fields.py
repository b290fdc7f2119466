"""The fields of a schema as properties of a contract and as paths, and whether a path is one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.baselines.operands import read_version
from counterfoil.contracts.errors import NotKnown
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, PathNotFound, StepKind, member, print_path, resolve_path
from counterfoil.schema.plans.tree import ArrayType, Leaf, MapType, Node, NotPlannable, RecordType, UnionType, tree_of
from counterfoil.schema.plans.types import split_null
from counterfoil.schema.rest.observations import WHOLE_RECORD

if TYPE_CHECKING:
    from counterfoil.sdk.client import Registry


# The fields of a schema of any language as properties of a contract, and as paths that a consumer can read.

_LOGICAL_TYPE_BY_WORD: Final = {
    **dict.fromkeys(("int", "long", "uint32", "uint64"), "integer"),
    **dict.fromkeys(("float", "double", "number", "decimal", "big-decimal"), "number"),
    **dict.fromkeys(("date", "full-date"), "date"),
    "date-time": "timestamp",
    "boolean": "boolean",
}
_WHOLE: Final = "*"


def properties_of(schema: ParsedSchema) -> list[JsonObject]:
    """Return the properties of a contract, as ODCS has them; empty for a schema without fields."""
    root = _record(schema)
    return [] if root is None else _Writer().fields(root)


def paths_of(schema: ParsedSchema) -> list[str]:
    """Return the paths of all fields without parts, or ``*`` where the schema has no fields."""
    root = _record(schema)
    return [_WHOLE] if root is None else [print_path(path) for path in _paths(root, (), ())] or [_WHOLE]


def _record(schema: ParsedSchema) -> RecordType | None:
    try:
        root = tree_of(schema)
    except NotPlannable:
        return None
    return root if isinstance(root, RecordType) else None


class _Writer:
    """Writes types as properties; a record inside itself is written without its fields."""

    def __init__(self) -> None:
        self._open: set[int] = set()

    def fields(self, record: RecordType) -> list[JsonObject]:
        self._open.add(id(record))
        try:
            return [self._field(each.name, each.type, is_optional=each.may_be_absent) for each in record.fields]
        finally:
            self._open.discard(id(record))

    def _field(self, name: str, node: Node, *, is_optional: bool) -> JsonObject:
        has_null, inner = _without_null(node)
        required = {} if has_null or is_optional else {"required": True}
        return {"name": name, **self._type(inner), **required}

    def _type(self, node: Node | None) -> JsonObject:
        match node:
            case Leaf():
                enum = {"enum": [{"value": symbol} for symbol in node.symbols]} if node.symbols else {}
                return {**_logical_type(node), "physicalType": str(node.scalar), **enum}
            case RecordType():
                inside = [] if id(node) in self._open else self.fields(node)
                return {"logicalType": "object", **({"properties": inside} if inside else {})}
            case ArrayType():
                return {"logicalType": "array", "items": self._type(_without_null(node.items)[1])}
            case MapType():
                values = self._type(_without_null(node.values)[1])
                key = {"name": "key", "logicalType": "string"}
                return {"logicalType": "map", "map": {"key": key, "value": {"name": "value", **values}}}
        return {}


def _logical_type(node: Leaf) -> dict[str, str]:
    """Return the logical type as a member of a property; nothing for bytes, which have none in ODCS."""
    word = node.scalar.word
    if word in {"bytes", "fixed"}:
        return {}
    if word.startswith("time-"):
        return {"logicalType": "time"}
    return {"logicalType": "timestamp" if "timestamp" in word else _LOGICAL_TYPE_BY_WORD.get(word, "string")}


def _without_null(node: Node) -> tuple[bool, Node | None]:
    """Return whether null is permitted, and the only other type; None if there are several."""
    has_null, inner = split_null(node)
    return has_null, None if isinstance(inner, UnionType) else inner


def _paths(record: RecordType, around: FieldPath, opened: tuple[int, ...]) -> Iterator[FieldPath]:
    for each in record.fields:
        yield from _paths_inside(each.type, (*around, member(each.name)), (*opened, id(record)))


def _paths_inside(node: Node, path: FieldPath, opened: tuple[int, ...]) -> Iterator[FieldPath]:
    match _without_null(node)[1]:
        case RecordType() as record if id(record) not in opened:
            yield from _paths(record, path, opened)
        case ArrayType() as array:
            yield from _paths_inside(array.items, (*path, ITEMS), opened)
        case MapType() as mapping:
            yield from _paths_inside(mapping.values, (*path, VALUES), opened)
        case _:
            yield path


# Whether a path is one of a subject's fields, so that a typing error does not read as a field that nobody reads.

_NEAREST: Final = 3


def require_field(registry: Registry, subject: str, path: FieldPath, *, read: Iterable[str]) -> None:
    """Raise ``NotKnown`` with the nearest names unless a version of the subject has the field.

    ``read`` are the paths that are read: one of them need not be in a schema. A field of the key is one of the subject
    of the topic's keys; a header has no schema.
    """
    text = print_path(path)
    known = [each for each in read if each != WHOLE_RECORD]
    if not path or text in known:
        return
    if path[0].kind is StepKind.HEADER:
        raise NotKnown(f"Headers have no schema, and nobody is known to read {text} of {subject}{_alike(text, known)}")
    of_key = path[0].kind is StepKind.KEY
    asked = f"{subject.removesuffix('-value')}-key" if of_key else subject
    prefix = "$key." if of_key else ""
    problem = ""
    for schema in _schemas(registry, asked):
        try:
            resolve_path(schema, path)
        except PathNotFound as missing:
            problem = problem or str(missing)
            known += [f"{prefix}{each}" for each in paths_of(schema) if each != WHOLE_RECORD]
        else:
            return
    detail = f": {problem}" if problem else ", since it has no version that can be read"
    raise NotKnown(f"No version of {asked} has the field {text}{detail}{_alike(text, known)}")


def _schemas(registry: Registry, subject: str) -> Iterator[ParsedSchema]:
    """Yield the schemas of a subject, the newest first."""
    try:
        versions = registry.versions(subject)
    except SubjectNotFound:
        return
    for version in sorted(versions, reverse=True):
        schema = read_version(registry, subject, version).schema
        if schema is not None:
            yield schema


def _alike(text: str, known: Iterable[str]) -> str:
    """Return the end of a sentence with the nearest of the known names; empty if none is near."""
    names = dict.fromkeys(known)
    near = get_close_matches(text, names, n=_NEAREST)
    ends = {name.rpartition(".")[2] for name in names}
    for end in get_close_matches(text.rpartition(".")[2], ends, n=_NEAREST):
        near += [name for name in names if name.rpartition(".")[2] == end]
    shown = list(dict.fromkeys(near))[:_NEAREST]
    return f"; the nearest are {', '.join(shown)}" if shown else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence with the names that are nearest to one that is unknown; empty if none is near."""
    near = get_close_matches(name, list(known), n=_NEAREST)
    return f"; the nearest are {', '.join(near)}" if near else ""
