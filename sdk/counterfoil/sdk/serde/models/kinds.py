"""The five kinds of classes that are models, and what each of them says about its fields.

pydantic, msgspec and attrs are imported for their own classes alone.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from counterfoil.sdk.errors import ModelError
from counterfoil.sdk.serde.models.description import NO_DEFAULT, ModelKind
from counterfoil.sdk.serde.places import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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
    default: Any = NO_DEFAULT
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


def _branches(model: Any) -> tuple[Any, ...]:
    return get_args(model) if get_origin(model) in (Union, UnionType) else (model,)


def classes_of(model: Any) -> tuple[type, ...]:
    """Return the classes of the values of a model: one, or those of a union."""
    return tuple(dict if is_typeddict(branch) else branch for branch in _branches(model))


def model_kinds(model: Any) -> set[ModelKind]:
    """Return the kinds of the classes of a model: one, or those of a union. Raises ``ModelError``."""
    branches = _branches(model)
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


def tag_of(cls: type) -> tuple[str, Any] | None:
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


def _default(default: Any, factory: Callable[[], Any] | None) -> Any:
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


def _pydantic_argument(name: str, alias: Any) -> str:
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
