"""Making the description of a model from its annotations."""

from __future__ import annotations

import collections.abc
import inspect
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NewType, NoReturn, TypeVar, Union, get_args, get_origin
from uuid import UUID

from counterfoil.schema.languages.avro.types import is_name
from counterfoil.sdk.errors import ModelError
from counterfoil.sdk.serde.avro.numbers import Duration
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
    UnreadableField,
    WrittenField,
    is_null,
    kind_of,
    model_kinds,
    tag_of,
    written_fields,
)
from counterfoil.sdk.serde.models.markers import AvroType, ModelField, limits_in, name_of

_SCALARS: Final = (
    NoneType, bool, int, float, str, bytes, Decimal, datetime, date, time, timedelta, UUID, Duration,
)  # fmt: skip
_LISTS: Final[dict[Any, type]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Set: frozenset,
    collections.abc.MutableSet: set,
}
_MAPS: Final = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_EXPECTED: Final = (
    "bool, int, float, str, bytes, Decimal, date, time, datetime, timedelta, UUID, Duration, an Enum, a Literal, "
    "list, tuple[T, ...], set, frozenset, dict[str, T], a union of these, or another model"
)


def describe(model: object) -> Node:
    """Return the description of a model, or of a union of models.

    Raises ``ModelError``, which names class, field and type, for a type that no schema can describe.
    """
    model_kinds(model)
    return _Describing().node(model, ())


def shown_type(python: object) -> str:
    """Return a type as a program writes it."""
    return _text_of(python)


class _Describing:
    """One walk over classes. ``_place`` is the class and the field that are read."""

    def __init__(self) -> None:
        self._models: dict[type, ModelNode] = {}
        self._enums: dict[type, EnumNode] = {}
        self._open: set[type] = set()
        self._place: tuple[str | None, str | None] = (None, None)

    def node(self, annotation: Any, markers: tuple[Any, ...]) -> Node:
        """Return the description of a type; ``markers`` are those of ``Annotated`` around it."""
        annotation, markers = _unwrapped(annotation, markers)
        origin = get_origin(annotation)
        if origin in (Union, UnionType):
            return self._union(get_args(annotation), markers)
        if origin is Literal:
            return self._literal(get_args(annotation))
        if origin is None and annotation in (Any, object):
            return AnyNode()
        container = origin or annotation
        if isinstance(container, type) and (container in _LISTS or container in _MAPS):
            return self._container(container, get_args(annotation), markers, annotation)
        if annotation in _SCALARS or annotation is None:
            return self._scalar(annotation or NoneType, markers)
        if isinstance(annotation, type) and issubclass(annotation, Enum):
            return self._enum(annotation)
        kind = kind_of(annotation)
        if origin is not None and kind_of(origin) is not None:
            self._refuse(annotation, "a class without type parameters, or a generic model of pydantic")
        if kind is None or origin is not None:
            self._refuse(annotation, _EXPECTED)
        if getattr(annotation, "__pydantic_root_model__", False):
            return self._root(annotation)
        return self._model(annotation, kind)

    def _root(self, cls: Any) -> Node:
        if cls in self._open:
            self._refuse(cls, "a RootModel that does not contain itself, or a model with fields")
        if not getattr(cls, "__pydantic_complete__", True):
            cls.model_rebuild()
        field = cls.__pydantic_fields__["root"]
        self._open.add(cls)
        outside, self._place = self._place, (cls.__name__, "root")
        inner = self.node(field.annotation, (*field.metadata, field))
        self._place = outside
        self._open.discard(cls)
        return RootNode(cls, inner)

    def _refuse(self, annotation: object, expected: str) -> NoReturn:
        raise refusal(self._place, annotation, expected)

    def _scalar(self, python: type, markers: tuple[object, ...]) -> ModelScalarNode:
        avro = next((one for one in reversed(markers) if isinstance(one, AvroType)), None)
        limits = limits_in(markers, python)
        if avro is None and python is Decimal and limits.digits is not None:
            avro = AvroType("decimal", precision=limits.digits, scale=limits.places or 0)
        return ModelScalarNode(python, avro, limits.keywords)

    def _container(self, container: Any, inner: tuple[Any, ...], markers: tuple[Any, ...], annotation: Any) -> Node:
        limits = limits_in(markers, container).keywords
        if container in _MAPS:
            key, value = inner or (str, Any)
            if _unwrapped(key, ())[0] is not str:
                self._refuse(annotation, "a dict whose keys are str")
            return MapNode(self.node(value, ()), limits)
        if container is tuple and (len(inner) != 2 or inner[1] is not Ellipsis):  # noqa: PLR2004 - T and ...
            self._refuse(annotation, "tuple[T, ...], since arrays have items of one type")
        return ModelListNode(self.node(inner[0] if inner else Any, ()), _LISTS[container], limits)

    def _union(self, annotations: tuple[object, ...], markers: tuple[object, ...]) -> Node:
        branches: list[Node] = []
        for each in annotations:
            branch = self.node(each, () if each in (None, NoneType) else markers)
            branches += branch.branches if isinstance(branch, UnionNode) else [branch]
        found = UnionNode(branches)
        for branch in branches:
            if isinstance(branch, RootNode) and (len(found.not_null) > 1 or isinstance(branch.root, UnionNode)):
                self._refuse(branch.python, "a model with fields, since a union has the types of its root in messages")
        return found

    def _literal(self, values: tuple[object, ...]) -> Node:
        by_type: dict[type, list[Any]] = {}
        for value in values:
            by_type.setdefault(type(value), []).append(value)
        name = "_".join(filter(None, self._place))
        literals = [
            LiteralNode(python, tuple(each), name) for python, each in by_type.items() if python is not NoneType
        ]
        if any(each.python not in (str, int, bool) for each in literals):
            self._refuse(Literal[values], "literals that are str, int, bool or None")
        nodes: list[Node] = [*literals, *([ModelScalarNode(NoneType)] if None in values else [])]
        return nodes[0] if len(nodes) == 1 else UnionNode(nodes)

    def _enum(self, python: type[Enum]) -> Node:
        known = self._enums.get(python)
        if known is None:
            members = [*python]
            has_words = all(isinstance(one.value, str) and is_name(one.value) for one in members)
            symbols = {one.value if has_words else one.name: one for one in members}
            known = self._enums[python] = EnumNode(python, name_of(python), _doc_of(python), symbols)
        return known

    def _model(self, cls: type, kind: ModelKind) -> Node:
        known = self._models.get(cls)
        if known is None:
            known = self._models[cls] = ModelNode(cls, kind, name_of(cls), _doc_of(cls), tag=tag_of(cls))
            outside, self._place = self._place, (cls.__name__, None)
            known.fields += [self._field(cls, one) for one in self._written(cls, kind)]
            self._place = outside
        return known

    def _written(self, cls: type, kind: ModelKind) -> list[WrittenField]:
        try:
            return [*written_fields(cls, kind)]
        except UnreadableField as error:
            name = f"{cls.__name__}.{error.field}"
            raise ModelError(f"{name}: {error.problem}", model=cls.__name__, field=error.field) from error
        except (NameError, TypeError, AttributeError) as error:
            problem = f"The annotations of {cls.__name__} cannot be evaluated: {error}; they need names of its module"
            raise ModelError(problem, model=cls.__name__) from error

    def _field(self, cls: type, written: WrittenField) -> FieldNode:
        self._place = (cls.__name__, written.attribute)
        annotation, markers = _unwrapped(written.annotation, written.markers)
        settings = [one for one in markers if isinstance(one, ModelField)]
        names = [one.name for one in settings if one.name]
        docs = [*(one.doc for one in settings), *map(_doc_in, markers)]
        found = FieldNode(
            written.attribute,
            names[-1] if names else written.name or written.attribute,
            written.argument or written.attribute,
            self.node(annotation, markers),
            written.default,
            written.is_optional,
            written.may_be_absent,
            aliases=tuple(alias for one in settings for alias in one.aliases),
            doc=next((text for text in docs if text), None),
        )
        if found.may_be_absent:
            _make_absence_null(found)
        return found


def refusal(place: tuple[str | None, str | None], annotation: object, expected: str) -> ModelError:
    """Return the error for a type at a class and a field."""
    shown = _text_of(annotation)
    where = ".".join(filter(None, place))
    problem = f"{where or 'The model'} is {shown}; expected {expected}"
    return ModelError(problem, model=place[0], field=place[1], type_text=shown)


def _make_absence_null(field: FieldNode) -> None:
    """Give a key that may be absent a null in its type, which is how messages without absence have it."""
    branches = field.type.branches if isinstance(field.type, UnionNode) else [field.type]
    if not any(map(is_null, branches)):
        field.type = UnionNode([ModelScalarNode(NoneType), *branches])
        field.is_null_absence = True
    if field.default is NO_DEFAULT:
        field.default = None


def _unwrapped(annotation: object, markers: tuple[object, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without ``Annotated``, ``NewType`` and aliases around it, and the markers of all of them."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *inner = get_args(annotation)
            markers = (*inner, *markers)
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__") and not isinstance(annotation, (type, TypeVar)):
            annotation = annotation.__value__  # of the statement "type"
        elif str(get_origin(annotation)) in {"typing.Final", "typing.ReadOnly", "typing_extensions.ReadOnly"}:
            annotation = get_args(annotation)[0]
        else:
            return annotation, markers


def _doc_in(marker: object) -> str | None:
    """Return the description of pydantic's ``Field``, msgspec's ``Meta`` or PEP 727's ``Doc``."""
    text = getattr(marker, "description", None) or getattr(marker, "documentation", None)
    return text if isinstance(text, str) else None


def _doc_of(cls: type) -> str | None:
    """Return the class's own docstring, except one that ``dataclass`` or ``Enum`` has made."""
    text = cls.__dict__.get("__doc__")
    made = f"{cls.__name__}("
    if not isinstance(text, str) or text.startswith(made) or text == "An enumeration.":
        return None
    return inspect.cleandoc(text)


def _text_of(annotation: object) -> str:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation.__name__
    return str(annotation).replace("typing.", "")
