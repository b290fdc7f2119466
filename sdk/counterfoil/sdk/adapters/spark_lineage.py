"""Which fields of decoded messages a Spark query reads, from its logical plan as JSON. Pure functions, without Spark.

A decoded column is one of ``from_avro``, or of this project's ``from_registry``. Reads of it are followed through
projections, exploded arrays and the conditions of other operators. Where the plan has something that is not known here,
all that reaches it counts as read.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from counterfoil.schema.paths import ITEMS, VALUES, member, print_path
from counterfoil.schema.rest.observations import WHOLE_RECORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterfoil.schema.datum import Json
    from counterfoil.schema.paths import FieldPath


class SparkExpression(NamedTuple):
    """A node of an expression: its class without packages, its fields, its children."""

    kind: str
    fields: Mapping[str, Json]
    children: tuple[SparkExpression, ...]


@dataclass(frozen=True, slots=True)
class DecodedColumn:
    """A place in a decoded value: ``column`` names the function that has decoded it.

    ``names`` are the fields of the columns c0, c1, … of a function of this project, before one is taken; an empty name
    is that of a value that is no record. ``is_lifted``: it is an array of the values at this path, one for each item of
    an array around them.
    """

    column: str
    path: FieldPath = ()
    names: tuple[str, ...] | None = None
    is_lifted: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of known parts."""

    parts: Mapping[str, Value | None]


@dataclass(frozen=True, slots=True)
class Ignored:
    """The fields that a function of this project returns beside the value."""


Value: TypeAlias = DecodedColumn | Struct | Ignored

_OPAQUE: Final = frozenset({"Union", "Expand", "Intersect", "Except", "MapInPandas", "MapInArrow"})
"""Operators whose output has other attributes than their input, so that all of the input counts as read."""


def from_avro(column: str) -> str:
    """Return the part of a record that Spark's own function decodes: ``key`` or ``value`` of Kafka's source."""
    return f"from_avro({column})"


def reads_of_plan(plan: Sequence[Mapping[str, object]], columns: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """Return the paths that a plan reads, by the name of the function that decodes: :func:`from_avro`, or one of ours.

    ``columns`` are our functions, by name, with the fields that they return as c0, c1, … The path of a whole value is
    ``*``.
    """
    walk = _Walk(columns)
    root = _tree(iter(plan))
    walk.take(root)
    walk.take_output(root)
    return walk.result()


@dataclass(slots=True)
class _Walk:
    columns: Mapping[str, tuple[str, ...]]
    values: dict[int, Value] = field(default_factory=dict)
    """By the id of the attribute."""
    exploded: list[DecodedColumn] = field(default_factory=list)
    read: set[tuple[str, FieldPath]] = field(default_factory=set)

    def take(self, node: SparkExpression) -> None:
        """Take an operator, after its input: its reads, and its attributes."""
        for each in node.children:
            self.take(each)
        match node.kind:
            case "Project":
                for each in _expressions(node.fields["projectList"]):
                    self._define(each)
            case "ArrowEvalPython" | "BatchEvalPython":
                self._call(node)
            case "Generate":
                self._explode(node)
            case kind if kind in _OPAQUE:
                for each in node.children:
                    self.take_output(each)
            case _:
                self._use_fields(node)

    def take_output(self, node: SparkExpression) -> None:
        """Take the results of an operator as read; an aggregation has read them already."""
        if node.kind == "Project":
            for each in _expressions(node.fields["projectList"]):
                self.use(each)
        elif node.kind == "Generate":
            for each in _expressions(node.fields["generatorOutput"]):
                self.use(each)
        if node.kind not in {"Project", "Aggregate"} | _OPAQUE:
            for each in node.children:
                self.take_output(each)

    def result(self) -> dict[str, list[str]]:
        """Return the paths that were read; an array of which no item was read is one itself."""
        for each in self.exploded:
            if not any(column == each.column and path[: len(each.path)] == each.path for column, path in self.read):
                self.read.add((each.column, each.path))
        found: dict[str, set[str]] = {}
        for column, path in self.read:
            found.setdefault(column, set()).add(print_path(path) if path else WHOLE_RECORD)
        return {column: sorted(found[column]) for column in sorted(found)}

    # --- operators

    def _define(self, expression: SparkExpression) -> None:
        """Take an element of a projection: one that only passes on a value is read where it is used."""
        if expression.kind != "Alias":
            return
        value = self.value(expression)
        if value is None:
            self.use(expression)
        else:
            self._bind(expression, value)

    def _call(self, node: SparkExpression) -> None:
        results, calls = _expressions(node.fields["resultAttrs"]), _expressions(node.fields["udfs"])
        for made, call in zip(results, calls, strict=True):
            value = self.value(call)
            self._bind(made, value)
            if value is None:
                self.use(call)

    def _use_fields(self, node: SparkExpression) -> None:
        for name, found in node.fields.items():
            if name != "output":
                for each in _expressions(found):
                    self.use(each)

    def _explode(self, node: SparkExpression) -> None:
        [generator] = _expressions([node.fields["generator"]])
        made = list(_expressions(node.fields["generatorOutput"]))
        value = self.value(generator.children[0]) if generator.kind in {"Explode", "PosExplode"} else None
        if isinstance(value, DecodedColumn) and value.names is None:
            is_map = len(made) - (generator.kind == "PosExplode") > 1
            inner = replace(value, path=(*value.path, VALUES)) if is_map else _item(value)
            self.exploded.append(inner)
            self._bind(made[-1], inner)
        else:
            self.use(generator)

    def _bind(self, attribute: SparkExpression, value: Value | None) -> None:
        if value is not None:
            self.values[_id(attribute)] = value

    # --- expressions

    def use(self, expression: SparkExpression) -> None:
        """Note the reads of an expression."""
        value = self.value(expression)
        if value is not None:
            self._note(value)
            return
        for child in expression.children:
            self.use(child)

    def _note(self, value: Value | None) -> None:
        if isinstance(value, Struct):
            for part in value.parts.values():
                self._note(part)
        elif isinstance(value, DecodedColumn):
            paths = [_top(name) for name in value.names] if value.names is not None else [value.path]
            self.read.update((value.column, path) for path in paths)

    def value(self, expression: SparkExpression) -> Value | None:
        """Return the part of a decoded value that an expression is; None if it is something else."""
        match expression.kind:
            case "AttributeReference":
                return self.values.get(_id(expression))
            case "AvroDataToCatalyst":
                return DecodedColumn(from_avro(next(_attributes(expression), "value")))
            case "PythonUDF":
                name = expression.fields["name"]
                return DecodedColumn(name, names=self.columns[name]) if name in self.columns else None
            case "CreateNamedStruct":
                return self._struct(expression)
            case "CaseWhen":
                return self._if_read(expression)
        first = self.value(expression.children[0]) if expression.children else None
        return _part(expression, first)

    def _if_read(self, expression: SparkExpression) -> Value | None:
        """Return the value of our own function, which is in a condition: whether one was read."""
        condition, *results = expression.children
        is_ours = len(results) == 1 and isinstance(self.value(condition), Ignored)
        return self.value(results[0]) if is_ours else None

    def _struct(self, expression: SparkExpression) -> Struct | None:
        pairs = zip(expression.children[::2], expression.children[1::2], strict=True)
        parts = {str(name.fields.get("value")): self.value(part) for name, part in pairs}
        return Struct(parts) if parts and all(part is not None for part in parts.values()) else None


def _part(expression: SparkExpression, base: Value | None) -> Value | None:
    """Return a part of a value; None if it is not known."""
    match expression.kind:
        case "Alias":
            return base
        case "GetStructField":
            return _member(base, expression.fields)
        case "GetArrayItem" if isinstance(base, DecodedColumn) and base.names is None:
            return _item(base)
        case "GetArrayStructFields" if isinstance(base, DecodedColumn) and base.names is None:
            name = expression.fields["field"]["name"]
            return replace(base, path=(*_item(base).path, member(name)), is_lifted=True)
    return None


def _attributes(expression: SparkExpression) -> Iterator[str]:
    """Yield the names of the columns in an expression."""
    if expression.kind == "AttributeReference":
        yield expression.fields["name"]
    for each in expression.children:
        yield from _attributes(each)


def _member(base: Value | None, fields: Mapping[str, Json]) -> Value | None:
    """Return a field of a value; None if it is not known."""
    name = fields.get("name")
    if isinstance(base, Struct):
        return base.parts.get(name) if isinstance(name, str) else [*base.parts.values()][fields["ordinal"]]
    if not isinstance(base, DecodedColumn):
        return None
    if base.names is not None:
        ordinal = fields["ordinal"]
        return DecodedColumn(base.column, _top(base.names[ordinal])) if ordinal < len(base.names) else Ignored()
    return replace(base, path=(*base.path, member(name))) if isinstance(name, str) else None


def _top(name: str) -> FieldPath:
    """Return the path of a field of the record; an empty name is that of a value that is no record."""
    return (member(name),) if name else ()


def _item(base: DecodedColumn) -> DecodedColumn:
    """Return an item of an array."""
    return replace(base, is_lifted=False) if base.is_lifted else replace(base, path=(*base.path, ITEMS))


def _id(expression: SparkExpression) -> int:
    found: int = expression.fields["exprId"]["id"]
    return found


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _expressions(value: object) -> Iterator[SparkExpression]:
    """Yield the expressions in a field of an operator: one, or a list of them, each a list in pre-order."""
    if isinstance(value, list) and value:
        if isinstance(value[0], dict) and "class" in value[0]:
            yield _tree(iter(value))
        elif isinstance(value[0], list):
            for each in value:
                yield from _expressions(each)


def _tree(nodes: Iterator[Mapping[str, Json]]) -> SparkExpression:
    fields = next(nodes)
    return SparkExpression(_short(fields["class"]), fields, tuple(_tree(nodes) for _ in range(fields["num-children"])))
