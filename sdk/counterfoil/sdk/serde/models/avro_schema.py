"""The Avro schema of a model.

A class, an Enum, and a ``Literal`` of names become named types, each declared where it occurs first. A class without a
namespace of its own has that of the class around it. The first branch of a union is the one of the field's default, or
null, since older readers take defaults of the first branch alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import combinations
from types import NoneType
from typing import Any, Final, Literal, NoReturn
from uuid import UUID

from counterfoil.schema.datum import Datum, Json, JsonObject
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.avro.attributes import max_precision
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.avro.types import AvroKind, is_full_name, is_name
from counterfoil.sdk.errors import ModelError
from counterfoil.sdk.serde.avro.encode_plan import writing_conversion_of
from counterfoil.sdk.serde.avro.numbers import Duration
from counterfoil.sdk.serde.codec import is_rounded
from counterfoil.sdk.serde.models.describe import refusal, shown_type
from counterfoil.sdk.serde.models.description import (
    NO_DEFAULT,
    AnyNode,
    EnumNode,
    FieldNode,
    LiteralNode,
    MapNode,
    ModelKind,
    ModelListNode,
    ModelNode,
    ModelScalarNode,
    Node,
    RootNode,
    UnionNode,
    branch_of,
    is_null,
)
from counterfoil.sdk.serde.models.markers import AvroType, TypeName

_UUID_BYTES: Final = 16
_DURATION_BYTES: Final = 12

_BASE_BY_WORD: Final[Mapping[type, Mapping[str, str]]] = {
    NoneType: {"null": "null"},
    bool: {"boolean": "boolean"},
    int: {"long": "long", "int": "int", "timestamp-nanos": "long", "local-timestamp-nanos": "long"},
    float: {"double": "double", "float": "float"},
    str: {"string": "string"},
    bytes: {"bytes": "bytes", "fixed": "fixed"},
    Decimal: {"decimal": "bytes", "big-decimal": "bytes"},
    UUID: {"uuid": "string"},
    date: {"date": "int"},
    time: {"time-micros": "long", "time-millis": "int"},
    datetime: {f"{zone}timestamp-{unit}": "long" for zone in ("", "local-") for unit in ("micros", "millis", "nanos")},
    Duration: {"duration": "fixed"},
}
"""The words of ``AvroType`` for each Python type, the usual one first, with Avro's type below a logical one."""


def avro_schema(root: Node) -> str:
    """Return the text of the Avro schema of a description. Raises ``ModelError``."""
    document = _Deriving().type_of(root, None)
    text = json.dumps(document, indent=2, ensure_ascii=False)
    try:
        parse_avro(text)
    except SchemaParseError as error:
        raise ModelError(f"The Avro schema of the model is not valid: {error}") from error
    return text


class _Deriving:
    """One walk over a description. ``_place`` is the class and the field that are written."""

    def __init__(self) -> None:
        self._declared: dict[str, object] = {}
        self._name_by_class: dict[type, str] = {}
        self._place: tuple[str | None, str | None] = (None, None)

    def type_of(self, node: Node, namespace: str | None, *, first: int | None = None) -> Json:
        """Return a type as JSON; ``first`` is the branch of a union that comes first, if not null."""
        match node:
            case ModelScalarNode():
                return self._scalar(node, namespace)
            case LiteralNode():
                return self._literal(node, namespace)
            case EnumNode(python=python, doc=doc, symbols=symbols):
                rest = {**_doc(doc), "symbols": [*symbols]}
                return self._named(node.name, namespace, python, "enum", lambda _: rest)
            case ModelListNode(items=items):
                return {"type": "array", "items": self.type_of(items, namespace)}
            case MapNode(values=values):
                return {"type": "map", "values": self.type_of(values, namespace)}
            case UnionNode(branches=branches):
                return self._union(branches, namespace, first)
            case ModelNode(python=python):
                return self._named(node.name, namespace, python, "record", lambda inner: self._record(node, inner))
            case RootNode(root=root):
                return self.type_of(root, namespace, first=first)
            case AnyNode():
                raise refusal(self._place, Any, "a type, since Avro has no type for any value")

    def _refuse(self, python: object, expected: str) -> NoReturn:
        raise refusal(self._place, python, expected)

    # --- named types ---------------------------------------------------------------------------------------------

    def _named(
        self,
        name: TypeName,
        namespace: str | None,
        identity: object,
        kind: str,
        rest: Callable[[str | None], Mapping[str, Json]],
    ) -> Json:
        """Return the declaration of a type where it occurs first, and its name everywhere else.

        ``rest(namespace)`` has what a declaration has besides kind and name.
        """
        own = name.namespace or namespace
        full = f"{own}.{name.name}" if own else name.name
        if isinstance(identity, type):  # a class keeps the name that it has where it occurs first
            full = self._name_by_class.setdefault(identity, full)
            if full in self._declared and namespace and "." not in full:
                problem = f"{full} has no namespace, and is used in {namespace} too; name it with type_name"
                raise ModelError(problem, model=self._place[0], field=self._place[1], type_text=full)
        if not is_full_name(full):
            raise ModelError(f"{full} is no name in Avro; name the class with type_name", model=name.name)
        if full in self._declared:
            if self._declared[full] != identity:
                problem = f"Two types are named {full}; name one of them with type_name, or with name= of AvroType"
                raise ModelError(problem, model=self._place[0], field=self._place[1], type_text=full)
            return full
        self._declared[full] = identity
        declaration: JsonObject = {"type": kind, "name": name.name}
        if own != namespace:
            declaration["namespace"] = own
        if name.aliases:
            declaration["aliases"] = [*name.aliases]
        return {**declaration, **rest(own)}

    def _record(self, node: ModelNode, namespace: str | None) -> Mapping[str, Json]:
        outside = self._place
        fields = []
        for one in node.fields:
            self._place = (node.python.__name__, one.attribute)
            fields.append(self._field(one, namespace))
        self._place = outside
        return {**_doc(node.doc), "fields": fields}

    def _field(self, field: FieldNode, namespace: str | None) -> Json:
        if not is_name(field.name):
            self._refuse(repr(field.name), "a name of letters, digits and _; give one with ModelField(name=…)")
        first: int | None = None
        default = field.default
        inner, value = _without_root(field.type, default)
        if isinstance(inner, UnionNode) and default is not NO_DEFAULT:
            first = branch_of(inner.branches, value)
            if first is None:
                self._refuse(f"{default!r} by default", "a default of one of its types")
        written: JsonObject = {
            "name": field.name,
            **_doc(field.doc),
            "type": self.type_of(field.type, namespace, first=first),
        }
        if default is not NO_DEFAULT:
            written["default"] = self._default(field.type, default)
        if field.aliases:
            written["aliases"] = [*field.aliases]
        return written

    # --- types without a name ------------------------------------------------------------------------------------

    def _scalar(self, node: ModelScalarNode, namespace: str | None) -> Json:
        bases = _BASE_BY_WORD.get(node.python)
        if bases is None:
            usual = "counterfoil.sdk.Duration, or a number" if node.python is timedelta else "another type"
            self._refuse(node.python, f"{usual}, since Avro has none for it")
        if node.avro is None and node.python is Decimal:
            self._refuse(
                node.python,
                'its digits, as in Annotated[Decimal, AvroType("decimal", precision=10, scale=2)], or '
                'AvroType("big-decimal")',
            )
        wanted = node.avro or AvroType(next(iter(bases)))
        if wanted.word not in bases:
            self._refuse(f"{node.python.__name__} as {wanted.word!r}", f"{' or '.join(map(repr, bases))} in AvroType")
        base = bases[wanted.word]
        return self._sized(node.python, wanted, base, namespace) or _annotated(base, wanted)

    def _sized(self, python: type, wanted: AvroType, base: str, namespace: str | None) -> Json | None:
        """Return the declaration of a fixed; None for a type that is no fixed."""
        shown = f"{python.__name__} as {wanted.word!r}"
        size = {"uuid": _UUID_BYTES, "duration": _DURATION_BYTES}.get(wanted.word, wanted.size)
        if wanted.word == "decimal":
            self._check_digits(wanted)
        if wanted.word == "duration":
            name: str | None = wanted.name or "Duration"
        elif base == "fixed" or wanted.size is not None:
            name = wanted.name
        else:
            name = wanted.name if wanted.word in {"uuid", "decimal"} else None
            if name is None:
                return None
        if name is None or size is None or size < 1:
            self._refuse(shown, "the name and the size of the fixed: name= and size= of AvroType")
        namespace_of_name, _, short = name.rpartition(".")
        properties = {"size": size, **_logical(wanted)} if wanted.word != "fixed" else {"size": size}
        identity = (wanted.word, size, wanted.precision, wanted.scale)
        given = TypeName(short, namespace_of_name or None, ())
        return self._named(given, namespace, identity, "fixed", lambda _: properties)

    def _check_digits(self, wanted: AvroType) -> None:
        precision, scale = wanted.precision, wanted.scale
        most = max_precision(wanted.size) if wanted.size else None
        if precision is None or precision < 1 or not 0 <= scale <= precision or (most and precision > most):
            limit = f"precision from 1 to {most}, which {wanted.size} bytes hold" if most else "precision of 1 or more"
            self._refuse(f"a decimal of precision {precision} and scale {scale}", f"a {limit}, and a scale up to it")

    def _literal(self, node: LiteralNode, namespace: str | None) -> Json:
        if node.python is not str:
            return {int: "long", bool: "boolean"}[node.python]
        if not all(map(is_name, node.values)):
            return "string"
        symbols = {"symbols": [*node.values]}
        return self._named(TypeName(node.name, None, ()), namespace, node.values, "enum", lambda _: symbols)

    def _union(self, branches: Sequence[Node], namespace: str | None, first: int | None) -> Json:
        if first is None:
            first = next((number for number, branch in enumerate(branches) if is_null(branch)), 0)
        ordered = [branches[first], *(branch for number, branch in enumerate(branches) if number != first)]
        types = [self.type_of(branch, namespace) for branch in ordered]
        self._check_apart([(_shown(one), _labels(one, type_)) for one, type_ in zip(ordered, types, strict=True)])
        if any(isinstance(one, MapNode) for one in ordered) and any(isinstance(one, ModelNode) for one in ordered):
            self._refuse(" | ".join(map(_shown, ordered)), "a dict or models, since both are read as dicts")
        return types

    def _check_apart(self, branches: Sequence[tuple[str, set[str]]]) -> None:
        for (one, labels), (other, others) in combinations(branches, 2):
            for label in sorted(labels & others):
                self._refuse(f"{one} | {other}", f"types that differ in a message; both are {label} in Avro")

    # --- defaults ------------------------------------------------------------------------------------------------

    def _default(self, node: Node, value: Datum) -> Json:
        node, value = _without_root(node, value)
        match node:
            case ModelScalarNode():
                return self._scalar_default(node, value)
            case LiteralNode(values=values) if value in values:
                return value
            case EnumNode(python=python, symbol_attribute=attribute) if isinstance(value, python):
                return getattr(value, attribute)
            case ModelListNode(items=items, python=python) if issubclass(type(value), python):
                written = [self._default(items, item) for item in value]
                return written if python in (list, tuple) else sorted(written, key=json.dumps)
            case MapNode(values=values) if isinstance(value, dict):
                return {key: self._default(values, item) for key, item in value.items()}
            case UnionNode(branches=branches):
                number = branch_of(branches, value)
                if number is not None:
                    return self._default(branches[number], value)
            case ModelNode(kind=ModelKind.TYPED_DICT, fields=fields) if isinstance(value, dict):
                return {one.name: self._default(one.type, value.get(one.attribute)) for one in fields}
            case ModelNode(python=python, fields=fields) if isinstance(value, python):
                return {one.name: self._default(one.type, getattr(value, one.attribute)) for one in fields}
        return self._refuse_default(value)

    def _refuse_default(self, value: object) -> NoReturn:
        self._refuse(f"{value!r} by default", "a default of the field's type")

    def _scalar_default(self, node: ModelScalarNode, value: object) -> Json:
        is_whole_float = node.python is float and value.__class__ is int
        if value.__class__ is not node.python and not is_whole_float:
            self._refuse_default(value)
        if isinstance(value, float) and not math.isfinite(value):
            self._refuse_default(value)
        avro_type = parse_avro(json.dumps(_Deriving().type_of(node, None))).root
        conversion = writing_conversion_of(avro_type, exact=True)
        if is_whole_float and is_rounded(value, 4 if avro_type.kind is AvroKind.FLOAT else 8):
            self._refuse_default(value)
        is_local = node.avro is not None and node.avro.word.startswith("local-")
        if isinstance(value, datetime) and value.tzinfo is None and not is_local:
            self._refuse(f"{value!r} by default", "a time with a zone, since its instant would depend on the machine's")
        try:
            base = value if conversion is None else conversion.encode(value)
        except (TypeError, ValueError, ArithmeticError):
            self._refuse_default(value)
        return base.decode("latin-1") if isinstance(base, bytes) else base


def _without_root(node: Node, default: object) -> tuple[Node, Datum]:
    """Return a type and its default as they are in messages, without a ``RootModel`` around them."""
    while isinstance(node, RootNode):
        default = getattr(default, "root", default)
        node = node.root
    return node, default


def _doc(text: str | None) -> Mapping[str, Json]:
    return {"doc": text} if text else {}


def _logical(wanted: AvroType) -> Mapping[str, Json]:
    if wanted.word != "decimal":
        return {"logicalType": wanted.word}
    return {"logicalType": "decimal", "precision": wanted.precision, "scale": wanted.scale}


def _annotated(base: str, wanted: AvroType) -> Json:
    return base if base == wanted.word else {"type": base, **_logical(wanted)}


def _labels(node: Node, written: Json) -> set[str]:
    """Return the mark that no other branch of a union may have, so that a value that is read shows its branch."""
    kind = written if isinstance(written, str) else written["type"]
    match node:
        case ModelScalarNode(python=python):
            return {python.__name__, *({kind} if kind != "fixed" else ())}
        case LiteralNode(python=python):
            return {python.__name__, *({kind} if python is not str else ())}
        case EnumNode():
            return {"str"}
        case ModelListNode():
            return {"array"}
        case MapNode():
            return {"map", "dict"}
        case RootNode(root=root):
            return _labels(root, written)
    return set()


def _shown(node: Node) -> str:
    match node:
        case (
            ModelScalarNode(python=python)
            | EnumNode(python=python)
            | ModelNode(python=python)
            | ModelListNode(python=python)
            | RootNode(python=python)
        ):
            return shown_type(python)
        case MapNode():
            return "dict"
        case LiteralNode(values=values):
            return shown_type(Literal[values])
    return "Any"
