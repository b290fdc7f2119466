"""The neutral description of a model, and the facts of each of the five kinds of classes about its fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    NotRequired,
    Required,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from counterfoil.sdk.errors import ModelError
from counterfoil.sdk.serde import shown

if TYPE_CHECKING:
    from counterfoil.schema.datum import Datum, Json
    from counterfoil.sdk.serde.models.markers import AvroType, TypeName


# The neutral description of a model: what schemas and conversions are made of, whatever kind of class it is.
#
# A description is a graph, since classes may contain themselves: a class is one node, which may occur often.


class ModelKind(StrEnum):
    """The kinds of classes that are models."""

    DATACLASS = "dataclass"
    STRUCT = "msgspec.Struct"
    ATTRS = "attrs class"
    PYDANTIC = "pydantic model"
    TYPED_DICT = "TypedDict"


class NoModelDefault(Enum):
    """The default of a field without one."""

    NO_DEFAULT = "no default"


NO_DEFAULT: Final = NoModelDefault.NO_DEFAULT


@dataclass(eq=False, slots=True)
class AnyNode:
    """Any value: ``Any`` or ``object``."""


@dataclass(eq=False, slots=True)
class ModelScalarNode:
    """A value of one Python type. ``limits`` are keywords of JSON schemas, such as ``minimum``."""

    python: type
    avro: AvroType | None = None
    limits: Mapping[str, Json] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class LiteralNode:
    """One of several values, all of the type ``python``; ``name`` is made of the field's name."""

    python: type
    values: tuple[Datum, ...]
    name: str


@dataclass(eq=False, slots=True)
class EnumNode:
    """A member of an Enum. ``symbols`` are the members' names in Avro, in the order of declaration."""

    python: type[Enum]
    name: TypeName
    doc: str | None
    symbols: Mapping[str, Enum]

    @property
    def symbol_attribute(self) -> str:
        """The attribute of a member that has its symbol."""
        return "_value_" if all(symbol == member.value for symbol, member in self.symbols.items()) else "_name_"


@dataclass(eq=False, slots=True)
class ModelListNode:
    """Items of one type, as a ``python``: list, tuple, set or frozenset."""

    items: Node
    python: type
    limits: Mapping[str, Json] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class MapNode:
    """A dict with text keys and values of one type."""

    values: Node
    limits: Mapping[str, Json] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class UnionNode:
    """One of several types, in the order written; None is the scalar ``NoneType``."""

    branches: Sequence[Node]

    @property
    def not_null(self) -> list[Node]:
        """The branches other than None."""
        return [branch for branch in self.branches if not is_null(branch)]

    @property
    def is_optional(self) -> bool:
        """Whether None is one of the branches."""
        return len(self.not_null) < len(self.branches)


@dataclass(eq=False, slots=True)
class FieldNode:
    """A field of a model.

    ``attribute`` is its name in Python, ``name`` the one in messages, ``argument`` the one that the constructor takes.
    ``default`` is a constant that schemas may have; ``is_optional`` says that the constructor does not need the field.
    ``may_be_absent``: a key that a ``TypedDict`` need not have. The type then has null for its absence, which
    ``is_null_absence`` tells from a null of the annotation.
    """

    attribute: str
    name: str
    argument: str
    type: Node
    default: Datum = NO_DEFAULT
    is_optional: bool = False
    may_be_absent: bool = False
    is_null_absence: bool = False
    aliases: tuple[str, ...] = ()
    doc: str | None = None


@dataclass(eq=False, slots=True)
class ModelNode:
    """A class with fields. ``tag`` is the property and value by which msgspec distinguishes Structs in JSON."""

    python: type
    kind: ModelKind
    name: TypeName
    doc: str | None
    fields: list[FieldNode] = field(default_factory=list)
    tag: tuple[str, Json] | None = None


@dataclass(eq=False, slots=True)
class RootNode:
    """A ``RootModel`` of pydantic, whose values are in messages what its attribute ``root`` is."""

    python: type
    root: Node


Node: TypeAlias = (
    AnyNode | ModelScalarNode | LiteralNode | EnumNode | ModelListNode | MapNode | UnionNode | ModelNode | RootNode
)


def is_null(node: Node) -> bool:
    """Return whether the only value is None."""
    return isinstance(node, ModelScalarNode) and node.python is type(None)


def models_in(node: Node) -> list[ModelNode]:
    """Return the models directly in a type: itself, or the branches of a union."""
    return [each for each in _branches(node) if isinstance(each, ModelNode)]


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield every node of a description, once."""
    found: dict[int, Node] = {}
    rest = [root]
    while rest:
        node = rest.pop()
        if id(node) not in found:
            found[id(node)] = node
            yield node
            rest.extend(reversed(_children(node)))


def _branches(node: Node) -> Sequence[Node]:
    return node.branches if isinstance(node, UnionNode) else (node,)


def _children(node: Node) -> list[Node]:
    match node:
        case ModelListNode(items=inner) | MapNode(values=inner):
            return [inner]
        case UnionNode(branches=branches):
            return [*branches]
        case RootNode(root=root):
            return [root]
        case ModelNode(fields=fields):
            return [one.type for one in fields]
        case _:
            return []


# The five kinds of classes that are models, and what each of them says about its fields.
#
# pydantic, msgspec and attrs are imported for their own classes alone.

_CONSTANT_FACTORIES: Final = (list, dict, set, frozenset, tuple)


class UnreadableField(Exception):
    """A field that no schema can describe; the caller names it. ``field`` is its name, ``problem`` the reason."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field
        self.problem = problem


@dataclass(frozen=True, slots=True)
class WrittenField:
    """A field as its class declares it; ``markers`` are what pydantic has taken out of ``Annotated``."""

    attribute: str
    annotation: Any
    name: str | None = None
    argument: str | None = None
    default: Datum = NO_DEFAULT
    is_optional: bool = False
    may_be_absent: bool = False
    markers: tuple[Any, ...] = ()


def kind_of(cls: object) -> ModelKind | None:
    """Return the kind of a class; None for anything that is no model."""
    if not isinstance(cls, type):
        return None
    if hasattr(cls, "__pydantic_validator__"):
        return ModelKind.PYDANTIC
    if hasattr(cls, "__struct_fields__"):
        return ModelKind.STRUCT
    if dataclasses.is_dataclass(cls):
        return ModelKind.DATACLASS
    if hasattr(cls, "__attrs_attrs__"):
        return ModelKind.ATTRS
    return ModelKind.TYPED_DICT if is_typeddict(cls) else None


def _union_branches(model: object) -> tuple[Any, ...]:
    return get_args(model) if get_origin(model) in (Union, UnionType) else (model,)


def classes_of(model: object) -> tuple[type, ...]:
    """Return the classes of the values of a model: one, or those of a union."""
    return tuple(dict if is_typeddict(branch) else branch for branch in _union_branches(model))


def model_kinds(model: object) -> set[ModelKind]:
    """Return the kinds of the classes of a model: one, or those of a union. Raises ``ModelError``."""
    branches = _union_branches(model)
    kinds = [kind_of(branch) for branch in branches]
    for branch, kind in zip(branches, kinds, strict=True):
        if kind is None and kind_of(get_origin(branch)) is not None:
            expected = "a class without type parameters, or a generic model of pydantic"
            raise ModelError(f"model is {shown(branch)}; expected {expected}", type_text=shown(branch))
        if kind is None:
            expected = (
                "a msgspec.Struct, a dataclass, an attrs class, a TypedDict, a pydantic model, or a union of these"
            )
            raise ModelError(f"model is {shown(branch)}; expected {expected}", type_text=shown(branch))
    return {kind for kind in kinds if kind is not None}


def written_fields(cls: type, kind: ModelKind) -> Iterator[WrittenField]:
    """Yield the fields of a class in the order of declaration.

    Raises ``NameError`` and ``TypeError`` for annotations that cannot be evaluated, and ``UnreadableField``.
    """
    return _READERS[kind](cls)


def tag_of(cls: type) -> tuple[str, Json] | None:
    """Return the property by which msgspec recognises a Struct, and its value; None without one."""
    config = getattr(cls, "__struct_config__", None)
    return (config.tag_field, config.tag) if config is not None and config.tag is not None else None


def only_sets_attributes(cls: Any, kind: ModelKind) -> bool:
    """Return whether the constructor of a class does nothing but set the attributes of the same names.

    True for the constructors that ``dataclass`` and attrs generate, if there are no conversions, validators or methods
    to call after it, and if attributes are set as those of any object.
    """
    is_plain = cls.__setattr__ is object.__setattr__ and cls.__new__ is object.__new__
    made_by = getattr(getattr(cls.__dict__.get("__init__"), "__code__", None), "co_filename", "")
    if kind is ModelKind.DATACLASS:
        return is_plain and made_by == "<string>" and not hasattr(cls, "__post_init__")
    if kind is not ModelKind.ATTRS or not made_by.startswith("<attrs generated"):
        return False
    has_hooks = any(one.validator or one.converter or one.on_setattr for one in cls.__attrs_attrs__)
    return is_plain and not has_hooks and not any(hasattr(cls, f"__attrs_{when}_init__") for when in ("pre", "post"))


def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)


def _default(default: object, factory: Callable[[], Datum] | None) -> Datum:
    """Return the default as a constant; that of a factory only if it makes an empty container."""
    return factory() if factory in _CONSTANT_FACTORIES and factory is not None else default


def _refuse_computed(name: str, *, is_argument: bool) -> None:
    if not is_argument:
        raise UnreadableField(name, "it has init=False, so that no value that is read can be given to the constructor")


def _dataclass_fields(cls: Any) -> Iterator[WrittenField]:
    hints = _hints(cls)
    for one in dataclasses.fields(cls):
        _refuse_computed(one.name, is_argument=one.init)
        default = NO_DEFAULT if one.default is dataclasses.MISSING else one.default
        factory = None if one.default_factory is dataclasses.MISSING else one.default_factory
        yield WrittenField(
            one.name,
            hints[one.name],
            default=_default(default, factory),
            is_optional=default is not NO_DEFAULT or factory is not None,
        )


def _attrs_fields(cls: Any) -> Iterator[WrittenField]:
    import attr

    hints = _hints(cls)
    for one in cls.__attrs_attrs__:
        _refuse_computed(one.name, is_argument=one.init)
        made = one.default if isinstance(one.default, attr.Factory) else None  # type: ignore[arg-type]  # a class
        default = NO_DEFAULT if one.default is attr.NOTHING or made is not None else one.default
        factory = made.factory if made is not None and not made.takes_self else None
        yield WrittenField(
            one.name,
            hints.get(one.name, one.type),
            argument=one.alias or one.name,
            default=_default(default, factory),
            is_optional=one.default is not attr.NOTHING,
        )


def _struct_fields(cls: Any) -> Iterator[WrittenField]:
    import msgspec

    hints = _hints(cls)
    for one in msgspec.structs.fields(cls):
        default = NO_DEFAULT if one.default is msgspec.NODEFAULT else one.default
        factory = None if one.default_factory is msgspec.NODEFAULT else one.default_factory
        yield WrittenField(
            one.name,
            hints[one.name],
            name=one.encode_name,
            default=_default(default, factory),
            is_optional=not one.required,
        )


def _pydantic_fields(cls: Any) -> Iterator[WrittenField]:
    if not getattr(cls, "__pydantic_complete__", True):
        cls.model_rebuild()
    for name, one in cls.__pydantic_fields__.items():
        is_required = one.is_required()
        factory = one.default_factory
        default = NO_DEFAULT if is_required or factory is not None else one.default
        yield WrittenField(
            name,
            one.annotation,
            name=one.serialization_alias or one.alias or name,
            argument=_pydantic_argument(name, one.validation_alias or one.alias),
            default=_default(default, factory),
            is_optional=not is_required,
            markers=(*one.metadata, one),
        )


def _pydantic_argument(name: str, alias: object) -> str:
    if alias is None:
        return name
    candidates = [alias, *getattr(alias, "choices", ())]
    found = next((one for one in candidates if isinstance(one, str)), None)
    if found is None:
        raise UnreadableField(name, "its validation alias is a path; expected a name")
    return found


def _typed_dict_fields(cls: Any) -> Iterator[WrittenField]:
    for name, hint in _hints(cls).items():
        origin = get_origin(hint)
        is_required = name in cls.__required_keys__ if origin not in (Required, NotRequired) else origin is Required
        annotation = get_args(hint)[0] if origin in (Required, NotRequired) else hint
        yield WrittenField(name, annotation, is_optional=not is_required, may_be_absent=not is_required)


_READERS: Final[Mapping[ModelKind, Callable[[type], Iterator[WrittenField]]]] = {
    ModelKind.DATACLASS: _dataclass_fields,
    ModelKind.ATTRS: _attrs_fields,
    ModelKind.STRUCT: _struct_fields,
    ModelKind.PYDANTIC: _pydantic_fields,
    ModelKind.TYPED_DICT: _typed_dict_fields,
}


# Which type of a union a value of the program belongs to, by the value's class.


def branch_of(branches: Sequence[Node], value: object) -> int | None:
    """Return the number of the first branch whose values have the value's class; None if there is none."""
    return next((number for number, branch in enumerate(branches) if _holds(branch, value)), None)


def _holds(node: Node, value: object) -> bool:
    match node:
        case ModelScalarNode(python=python):
            return value.__class__ is python
        case LiteralNode(python=python, values=values):
            return value.__class__ is python and value in values
        case EnumNode(python=python) | ModelListNode(python=python):
            return isinstance(value, python)
        case MapNode() | ModelNode(kind=ModelKind.TYPED_DICT):
            return isinstance(value, dict)
        case ModelNode(python=python) | RootNode(python=python):
            return isinstance(value, python)
        case UnionNode(branches=branches):
            return branch_of(branches, value) is not None
        case AnyNode():
            return True
