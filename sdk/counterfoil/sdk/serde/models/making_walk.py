"""The meaning of making objects of plain values: what fits a model, and where a value does not.

Generated code does the same faster, but without the place of an error; when it raises, the object is made here.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn

from counterfoil.sdk.errors import DecodeError, IncompatibleReader
from counterfoil.sdk.serde.avro_codec.logical import EPOCH, LOCAL_EPOCH
from counterfoil.sdk.serde.avro_codec.plan import TYPE_KEY
from counterfoil.sdk.serde.models.description import (
    EnumNode,
    FieldNode,
    ListNode,
    MapNode,
    ModelKind,
    ModelNode,
    Node,
    RootNode,
    ScalarNode,
    UnionNode,
    models_in,
)
from counterfoil.sdk.serde.places import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from counterfoil.schema.formats.avro.types import Record

_NANOS_PER_MICROSECOND: Final = 1000


class Names:
    """The record of each class in the schema of the values, as far as it is known.

    ``is_sparse``: a dict may lack fields that are null or have a default, as those of Protobuf do.
    """

    def __init__(self, record_by_model: Mapping[ModelNode, Record], *, is_sparse: bool = False) -> None:
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


def moment_of(node: ScalarNode) -> Callable[[int], datetime] | None:
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


def validator_of(cls: Any) -> Callable[[Any], Any]:
    """Return the function of a pydantic model that makes an object of a dict."""
    validate: Callable[[Any], Any] = cls.__pydantic_validator__.validate_python
    return validate


class MakingWalk:
    """One value, made type by type; ``path`` is the current place."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._path: list[str] = []

    def make(self, node: Node, value: Any) -> Any:
        """Return the object. Raises ``DecodeError`` with the path."""
        try:
            return self._make(node, value)
        except RecursionError:
            self._fail("an object that is nested less deeply", value)

    def _fail(self, expected: str, value: object) -> NoReturn:
        path = "".join(self._path).removeprefix(".")
        raise DecodeError(f"{path or 'The value'}: expected {expected}; got {shown(value)}", path=path)

    def _under(self, part: str, node: Node, value: Any) -> Any:
        self._path.append(part)
        made = self._make(node, value)
        self._path.pop()
        return made

    def _make(self, node: Node, value: Any) -> Any:
        match node:
            case EnumNode(symbols=symbols, python=python):
                if not isinstance(value, str) or value not in symbols:
                    self._fail(f"a symbol of {python.__name__}: {', '.join(symbols)}", value)
                return symbols[value]
            case ScalarNode():
                return self._scalar(node, value)
            case ListNode(items=items, python=python):
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

    def _scalar(self, node: ScalarNode, value: Any) -> Any:
        moment = moment_of(node)
        if moment is None or not isinstance(value, int):
            return value
        try:
            return moment(value)
        except (ValueError, OverflowError):
            self._fail("whole microseconds, or the field to be an int, which holds nanoseconds", value)

    def _union(self, node: UnionNode, value: Any) -> Any:
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

    def _model(self, node: ModelNode, value: Any) -> Any:
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

    def _constructed(self, node: ModelNode | RootNode, values: Any) -> Any:
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


_AS_IT_IS: Final = ScalarNode(object)


def _may_be(node: Node, value: object) -> bool:
    match node:
        case EnumNode():
            return isinstance(value, str)
        case ListNode():
            return isinstance(value, list)
        case MapNode() | ModelNode():
            return isinstance(value, dict)
        case ScalarNode():
            return isinstance(value, int) and moment_of(node) is not None
    return False


def _places_in(error: Exception) -> Iterator[str]:
    """Yield the path of the first fault that pydantic reports."""
    faults = error.errors() if hasattr(error, "errors") and hasattr(error, "error_count") else [{"loc": ()}]
    for part in faults[0]["loc"]:
        yield f"[{part}]" if isinstance(part, int) else f".{part}"
