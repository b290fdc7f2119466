"""What a schema of any language says of the field at a path: its logical types, and whether it may be missing.

Source of the logical types: Open Data Contract Standard 3.2.0, ``logicalType``; ``bytes`` is added to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.evolution.languages.table import tree_of
from counterfoil.schema.evolution.tree import Array, Field, Leaf, Map, Node, NotPlannable, Null, Opaque, Record, Union
from counterfoil.schema.paths import KEY, PathNotFound, StepKind, resolve_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths.model import FieldPath, Step
    from counterfoil.schema.pointer import Pointer

_INTEGERS: Final = frozenset({"int", "long", "uint32", "uint64"})
_TYPES_BY_WORD: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(_INTEGERS, frozenset({"integer", "number"})),
    **dict.fromkeys(("float", "double", "number", "decimal", "big-decimal"), frozenset({"number"})),
    "boolean": frozenset({"boolean"}),
    **dict.fromkeys(("string", "enum", "uuid", "duration"), frozenset({"string"})),
    **dict.fromkeys(("bytes", "fixed"), frozenset({"bytes"})),
    "base64": frozenset({"bytes", "string"}),
    "date": frozenset({"date"}),
    "full-date": frozenset({"date", "string"}),
    "date-time": frozenset({"timestamp", "string"}),
}
_MOMENTS: Final = frozenset({"date", "time", "timestamp"})


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """The facts about a field.

    ``types`` has the logical types of each branch, None where the schema's types cannot be told; ``words`` describe the
    type. ``may_be_missing``: null is permitted, or a record without the field or without what is around it;
    ``is_optional``: so it is where that is there, of which ``may_be_absent`` is that the field may be left out, and
    ``may_be_null`` the rest. ``symbols`` are those of an enum. ``pointer`` is the place of the
    field in the schema's text.
    """

    types: tuple[frozenset[str], ...] | None = None
    words: str = "of an unknown type"
    may_be_missing: bool = False
    may_be_null: bool = False
    may_be_absent: bool = False
    symbols: tuple[str, ...] | None = None
    pointer: Pointer = ()

    @property
    def is_optional(self) -> bool:
        """Whether there may be no value where what is around the field is there."""
        return self.may_be_null or self.may_be_absent

    def may_be(self, logical_type: str) -> bool:
        """Return whether a value may have the logical type; numbers and texts may stand for dates and times."""
        return self.types is None or any(_fits(each, logical_type) for each in self.types)

    def is_always(self, logical_type: str) -> bool:
        """Return whether every value but null has the logical type."""
        return self.types is None or all(_fits(each, logical_type) for each in self.types)


_UNKNOWN: Final = FieldFacts()


class SchemaFacts:
    """The facts of one schema; its tree of types is read once, and each path that exists is resolved once."""

    def __init__(self, schema: ParsedSchema) -> None:
        self.schema = schema
        self._root: Node | None = None
        self._found: dict[FieldPath, FieldFacts] = {}
        try:
            self._root = tree_of(schema)
        except NotPlannable:  # such as a Protobuf file without messages: only whether a path exists is known
            self._root = None

    def at(self, path: FieldPath) -> FieldFacts | None:
        """Return the facts about the field at ``path``; None if the schema has no such path."""
        inside = path[1:] if path and path[0] == KEY else path
        known = self._found.get(inside)
        if known is not None:
            return known
        try:
            pointer = resolve_path(self.schema, inside).pointer
        except PathNotFound:
            return None
        facts = _UNKNOWN if self._root is None else _follow(self._root, inside)
        found = self._found[inside] = replace(facts, pointer=pointer)
        return found


def _follow(root: Node, path: FieldPath) -> FieldFacts:
    node, may_be_missing = root, False
    is_of_branch, last = False, None
    rest = list(path)
    while rest:
        step = rest.pop(0)
        has_null, branches = _branches(node)
        is_of_branch, last = False, None
        if step.kind is StepKind.BRANCH:
            found = next((each for each in branches if step.name in _names(each)), None)
            is_of_branch = len(branches) > 1
        else:
            only = branches[0] if len(branches) == 1 else None
            if isinstance(only, Record) and step.kind is StepKind.MEMBER:
                field = _field(only, step, rest)
                if field is None and only is root and step.name in (only.name, only.full_name):
                    continue
                last = field
                found = None if field is None else field.type
            else:
                found = _part(only, step)
        if found is None:
            return _UNKNOWN
        may_be_missing = may_be_missing or has_null or is_of_branch or (last is not None and last.may_be_absent)
        node = found
    facts = _facts(node)
    may_be_absent = last is not None and last.may_be_absent
    may_be_null = facts.may_be_null if last is None or not may_be_absent else facts.may_be_null and last.has_null
    return replace(
        facts,
        may_be_missing=may_be_missing or facts.is_optional,
        may_be_null=is_of_branch or may_be_null,
        may_be_absent=may_be_absent,
    )


def _field(record: Record, step: Step, rest: list[Step]) -> Field | None:
    """Return the field of a step; that of a oneof's branch needs the next step, too."""
    field = next((each for each in record.fields if each.name == step.name), None)
    if field is None and rest and rest[0].kind is StepKind.BRANCH:
        chosen = rest[0].name
        field = next((each for each in record.fields if each.oneof == step.name and each.name == chosen), None)
        if field is not None:
            rest.pop(0)
    return field


def _part(node: Node | None, step: Step) -> Node | None:
    if isinstance(node, Array) and step.kind is StepKind.ITEM:
        return node.items
    if isinstance(node, Map) and step.kind is StepKind.VALUE:
        return node.values
    return None


def _branches(node: Node) -> tuple[bool, list[Node]]:
    """Return whether a type permits null, and its other branches."""
    if isinstance(node, Null):
        return True, []
    if not isinstance(node, Union):
        return False, [node]
    return any(isinstance(each, Null) for each in node.branches), [
        each for each in node.branches if not isinstance(each, Null)
    ]


def _names(node: Node) -> Iterator[str]:
    yield node.kind
    if isinstance(node, Record | Leaf):
        yield from (name for name in (node.name, node.full_name) if name)


def _facts(node: Node) -> FieldFacts:
    has_null, branches = _branches(node)
    types = [_types(each) for each in branches]
    symbols = branches[0].symbols if len(branches) == 1 and isinstance(branches[0], Leaf) else ()
    return FieldFacts(
        types=tuple(each for each in types if each is not None) if None not in types else None,
        words=" or ".join(_words(each) for each in branches) or "null",
        may_be_missing=has_null,
        may_be_null=has_null,
        symbols=symbols or None,
    )


def _types(node: Node) -> frozenset[str] | None:
    match node:
        case Opaque():
            return None
        case Record():
            return frozenset({"object"})
        case Map():
            return frozenset({"map", "object"})
        case Array():
            return frozenset({"array", "vector"})
        case Leaf():
            word = node.scalar.word
            if word.startswith("time-"):
                return frozenset({"time"})
            if "timestamp" in word:
                return frozenset({"timestamp"})
            return _TYPES_BY_WORD.get(word, _TYPES_BY_WORD.get(node.scalar.base))
    return frozenset()


def _words(node: Node) -> str:
    if isinstance(node, Leaf):
        return f"{node.scalar}{f' {node.name}' if node.name else ''}"
    return node.words if isinstance(node, Opaque) else str(node.kind)


def _fits(types: frozenset[str], logical_type: str) -> bool:
    if logical_type in types:
        return True
    return logical_type in _MOMENTS and not _MOMENTS & types and bool({"integer", "string"} & types)
