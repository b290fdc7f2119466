"""The meaning of making objects of plain values: which record a class is, and where a value does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import AvroArray, AvroMap, AvroRecord, AvroType, AvroUnion
from counterfoil.sdk.errors import DecodeError, IncompatibleReader, ModelError
from counterfoil.sdk.serde import shown
from counterfoil.sdk.serde.avro.logical_types import EPOCH, LOCAL_EPOCH
from counterfoil.sdk.serde.avro.plan import TYPE_KEY
from counterfoil.sdk.serde.models.description import (
    EnumNode,
    FieldNode,
    MapNode,
    ModelKind,
    ModelListNode,
    ModelNode,
    ModelScalarNode,
    Node,
    RootNode,
    UnionNode,
    models_in,
)

# Which record of an Avro schema each class of a model is, where the schema is not the derived one.


def match_records(root: Node, schema: AvroType) -> Mapping[ModelNode, AvroRecord]:
    """Return the record of each class, found by the names of fields from the root on.

    In a union of several classes or several records, their names decide: with the namespace, else without. Raises
    ``ModelError`` for a class that would be two records.
    """
    found: dict[ModelNode, AvroRecord] = {}
    rest: list[tuple[Node, AvroType]] = [(root, schema)]
    while rest:
        node, avro_type = rest.pop()
        if isinstance(node, ModelNode) and isinstance(avro_type, AvroRecord):
            known = found.setdefault(node, avro_type)
            if known is not avro_type:
                names = f"{known.full_name} and {avro_type.full_name}"
                name = node.python.__name__
                raise ModelError(f"{name} would be two records of the schema, {names}; use two classes", model=name)
        rest += [pair for pair in _inside(node, avro_type) if pair[0] not in found]
    return found


def _inside(node: Node, avro_type: AvroType) -> Iterator[tuple[Node, AvroType]]:
    match node, avro_type:
        case (RootNode(root=root), _):
            yield root, avro_type
        case (UnionNode(), _) | (_, AvroUnion()):
            nodes = [_plain(each) for each in (node.branches if isinstance(node, UnionNode) else (node,))]
            types = avro_type.branches if isinstance(avro_type, AvroUnion) else (avro_type,)
            yield from _of_unions(nodes, types)
        case ModelNode(fields=fields), AvroRecord(fields=theirs):
            type_by_name = {field.name: field.type for field in theirs}
            yield from ((one.type, type_by_name[one.name]) for one in fields if one.name in type_by_name)
        case (ModelListNode(items=inner), AvroArray(items=other)) | (MapNode(values=inner), AvroMap(values=other)):
            yield inner, other


def _of_unions(nodes: Sequence[Node], types: Sequence[AvroType]) -> Iterator[tuple[Node, AvroType]]:
    for one, other in ((ModelListNode, AvroArray), (MapNode, AvroMap)):
        yield from zip(_of(one, nodes), _of(other, types), strict=False)
    models = [node for node in nodes if isinstance(node, ModelNode)]
    records = [each for each in types if isinstance(each, AvroRecord)]
    if len(models) == len(records) == 1:
        yield models[0], records[0]
        return
    for model in models:
        named = [each for each in records if each.name == model.name.name]
        exact = [each for each in named if each.namespace == model.name.namespace]
        for record in exact or (named if len(named) == 1 else []):
            yield model, record


def _plain(node: Node) -> Node:
    return node.root if isinstance(node, RootNode) else node


def _of(kind: type, candidates: Sequence[Node] | Sequence[AvroType]) -> list[object]:
    return [each for each in candidates if isinstance(each, kind)]


# The meaning of making objects of plain values: what fits a model, and where a value does not.
#
# Generated code does the same faster, but without the place of an error; when it raises, the object is made here.

_NANOS_PER_MICROSECOND: Final = 1000


class Names:
    """The record of each class in the schema of the values, as far as it is known.

    ``is_sparse``: a dict may lack fields that are null or have a default, as those of Protobuf do.
    """

    def __init__(self, record_by_model: Mapping[ModelNode, AvroRecord], *, is_sparse: bool = False) -> None:
        self._record_by_model = record_by_model
        self.is_sparse = is_sparse

    def name_of(self, node: ModelNode) -> str:
        """Return the full name of a class's record."""
        record = self._record_by_model.get(node)
        if record is not None:
            return record.full_name
        return f"{node.name.namespace}.{node.name.name}" if node.name.namespace else node.name.name

    def fields_of(self, node: ModelNode) -> Sequence[FieldNode]:
        """Return the fields of a class that values have; the constructor gives the others their defaults.

        Raises ``IncompatibleReader`` if it does not.
        """
        record = self._record_by_model.get(node)
        if record is None:
            return node.fields
        known = {field.name for field in record.fields}
        for one in node.fields:
            if one.name not in known and not one.is_optional:
                name = f"{node.python.__name__}.{one.attribute}"
                problem = f"{name} has no default, and the reader's {record.full_name} has no field {one.name!r}"
                raise IncompatibleReader(f"{problem} (in {one.name})", path=one.name)
        return [one for one in node.fields if one.name in known]


def accepts_null(field: FieldNode) -> bool:
    """Return whether null is a value of a field."""
    return isinstance(field.type, UnionNode) and field.type.is_optional


def moment_of(node: ModelScalarNode) -> Callable[[int], datetime] | None:
    """Return the function that reads nanoseconds as the type's ``datetime``; None for another type."""
    if node.python is not datetime or node.avro is None or not node.avro.word.endswith("-nanos"):
        return None
    epoch = LOCAL_EPOCH if node.avro.word.startswith("local-") else EPOCH

    def moment(nanos: int) -> datetime:
        micros, rest = divmod(nanos, _NANOS_PER_MICROSECOND)
        if rest:
            raise ValueError(nanos)
        return epoch + timedelta(microseconds=micros)

    return moment


def validator_of(cls: Any) -> Callable[[Datum], Datum]:
    """Return the function of a pydantic model that makes an object of a dict."""
    validate: Callable[[Datum], Datum] = cls.__pydantic_validator__.validate_python
    return validate


class MakingWalk:
    """One value, made type by type; ``path`` is the current place."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._path: list[str] = []

    def make(self, node: Node, value: object) -> Datum:
        """Return the object. Raises ``DecodeError`` with the path."""
        try:
            return self._make(node, value)
        except RecursionError:
            self._fail("an object that is nested less deeply", value)

    def _fail(self, expected: str, value: object) -> NoReturn:
        path = "".join(self._path).removeprefix(".")
        raise DecodeError(f"{path or 'The value'}: expected {expected}; got {shown(value)}", path=path)

    def _under(self, part: str, node: Node, value: object) -> Datum:
        self._path.append(part)
        made = self._make(node, value)
        self._path.pop()
        return made

    def _make(self, node: Node, value: object) -> Datum:
        match node:
            case EnumNode(symbols=symbols, python=python):
                if not isinstance(value, str) or value not in symbols:
                    self._fail(f"a symbol of {python.__name__}: {', '.join(symbols)}", value)
                return symbols[value]
            case ModelScalarNode():
                return self._scalar(node, value)
            case ModelListNode(items=items, python=python):
                if not isinstance(value, list):
                    self._fail("a list", value)
                return python([self._under(f"[{index}]", items, item) for index, item in enumerate(value)])
            case MapNode(values=values):
                if not isinstance(value, dict):
                    self._fail("a dict", value)
                return {key: self._under(f"[{key!r}]", values, item) for key, item in value.items()}
            case UnionNode():
                return self._union(node, value)
            case ModelNode():
                return self._model(node, value)
        return self._constructed(node, self._make(node.root, value)) if isinstance(node, RootNode) else value

    def _scalar(self, node: ModelScalarNode, value: object) -> Datum:
        moment = moment_of(node)
        if moment is None or not isinstance(value, int):
            return value
        try:
            return moment(value)
        except (ValueError, OverflowError):
            self._fail("whole microseconds, or the field to be an int, which holds nanoseconds", value)

    def _union(self, node: UnionNode, value: object) -> Datum:
        if value is None:
            return None
        if len(node.not_null) == 1:
            return self._make(node.not_null[0], value)
        models = models_in(node)
        if isinstance(value, dict) and len(models) > 1:
            named = {self._names.name_of(one): one for one in models}
            name = value.get(TYPE_KEY)
            if name not in named:
                self._fail(f"a record of {' or '.join(named)}", name)
            return self._make(named[name], value)
        return self._make(next((one for one in node.not_null if _may_be(one, value)), _AS_IT_IS), value)

    def _model(self, node: ModelNode, value: object) -> Datum:
        if not isinstance(value, dict):
            self._fail(f"a dict for {node.python.__name__}", value)
        values = {}
        for one in node.fields:
            if one.name in value:
                if value[one.name] is not None or not one.is_null_absence:
                    values[one.argument] = self._under(f".{one.name}", one.type, value[one.name])
            elif self._names.is_sparse and accepts_null(one) and not one.is_optional:
                values[one.argument] = None
            elif not one.is_optional:
                self._path.append(f".{one.name}")
                self._fail(f"a value, since {node.python.__name__} has no default for it", None)
        return self._constructed(node, values)

    def _constructed(self, node: ModelNode | RootNode, values: Datum) -> Datum:
        kind = ModelKind.PYDANTIC if isinstance(node, RootNode) else node.kind
        if kind is ModelKind.TYPED_DICT:
            return values
        try:
            return validator_of(node.python)(values) if kind is ModelKind.PYDANTIC else node.python(**values)
        except RecursionError:
            raise
        except Exception as error:
            path = "".join([*self._path, *_places_in(error)]).removeprefix(".")
            problem = f"{path or 'The value'}: {node.python.__name__} refuses it: {type(error).__name__}: {error}"
            raise DecodeError(problem, path=path) from error


_AS_IT_IS: Final = ModelScalarNode(object)


def _may_be(node: Node, value: object) -> bool:
    match node:
        case EnumNode():
            return isinstance(value, str)
        case ModelListNode():
            return isinstance(value, list)
        case MapNode() | ModelNode():
            return isinstance(value, dict)
        case ModelScalarNode():
            return isinstance(value, int) and moment_of(node) is not None
    return False


def _places_in(error: Exception) -> Iterator[str]:
    """Yield the path of the first fault that pydantic reports."""
    faults = error.errors() if hasattr(error, "errors") and hasattr(error, "error_count") else [{"loc": ()}]
    for part in faults[0]["loc"]:
        yield f"[{part}]" if isinstance(part, int) else f".{part}"
