"""Plain values that codecs have read as objects of a program: generated code.

A dict becomes a model by its constructor, a symbol a member, a list a tuple or a set. Where a union has several models,
``TYPE_KEY`` in the dict names the record. The code raises any exception for a value that does not fit, and then
:mod:`.making_walk` makes the object again and either returns it or raises the error that has the place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.sdk.serde.avro_codec.plan import TYPE_KEY
from counterfoil.sdk.serde.models.description import (
    EnumNode,
    ListNode,
    MapNode,
    ModelKind,
    ModelNode,
    RootNode,
    ScalarNode,
    UnionNode,
    models_in,
    nodes_of,
)
from counterfoil.sdk.serde.models.kinds import only_sets_attributes
from counterfoil.sdk.serde.models.making_walk import MakingWalk, accepts_null, moment_of, validator_of
from counterfoil.sdk.serde.models.writer import ModelWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from counterfoil.sdk.serde.models.description import FieldNode, Node
    from counterfoil.sdk.serde.models.making_walk import Names


def compile_making(root: Node, names: Names) -> Callable[[Any], Any]:
    """Return a function that makes an object of a plain value.

    Raises ``IncompatibleReader`` for a class with a field that no value has. The function raises ``DecodeError`` with
    the path.
    """
    make = _MakingWriter(names).compile(root)

    def make_or_explain(value: Any) -> Any:
        try:
            return make(value)
        except Exception:  # noqa: BLE001 - constructors and validators of the program may raise anything
            return MakingWalk(names).make(root, value)

    return make_or_explain


def has_choices(root: Node) -> bool:
    """Return whether a union has several models, so that the dicts that are read must have ``TYPE_KEY``."""
    return any(isinstance(node, UnionNode) and len(models_in(node)) > 1 for node in nodes_of(root))


def _differs(node: Node) -> bool:
    match node:
        case EnumNode() | ModelNode() | RootNode():
            return True
        case ListNode(python=python):
            return python is not list
        case ScalarNode():
            return moment_of(node) is not None
        case _:
            return False


class _MakingWriter(ModelWriter):
    """Writes the code that makes objects."""

    def __init__(self, names: Names) -> None:
        super().__init__("make", _differs, {"new": object.__new__})
        self._names = names

    def _part(self, node: Node, value: str) -> str:
        match node:
            case EnumNode(symbols=symbols):
                return f"{self._out.bind('members', dict(symbols))}[{value}]"
            case RootNode(python=python, root=root):
                return f"{self._out.bind('validate', validator_of(python))}({self._converted(root, value)})"
            case ScalarNode():
                return f"{self._out.bind('moment', moment_of(node))}({value})"
            case ListNode(items=items, python=python):
                item = self._out.name("v")
                is_changed = self._is_changed(items)
                made = f"[{self._converted(items, item)} for {item} in {value}]" if is_changed else value
                return made if python is list else f"{self._out.bind('kind', python)}({made})"
            case MapNode(values=values):
                key, item = self._out.name("k"), self._out.name("v")
                return f"{{{key}: {self._converted(values, item)} for {key}, {item} in {value}.items()}}"
            case _:
                raise AssertionError(node)

    def _branches(self, node: UnionNode) -> Iterable[tuple[type, str]]:
        for one in node.branches:
            if self._is_changed(one) and not isinstance(one, ModelNode):
                yield _plain_class(one), self._converted(one, "v")
        models = models_in(node)
        if len(models) == 1:
            yield dict, self._converted(models[0], "v")
        elif models:
            by_name = ", ".join(f"{self._names.name_of(one)!r}: {self._name(one)}" for one in models)
            yield dict, f"{{{by_name}}}[v[{TYPE_KEY!r}]](v)"

    def _model(self, node: ModelNode) -> list[str]:
        values = [(one, self._converted(one.type, f"v[{one.name!r}]")) for one in self._names.fields_of(node)]
        cls = self._out.bind("Class", node.python)
        if node.kind is ModelKind.TYPED_DICT:
            return _typed_dict(values, is_sparse=self._names.is_sparse)
        if node.kind is ModelKind.PYDANTIC:
            entries = ", ".join(f"{one.argument!r}: {made}" for one, made in values)
            return [f"return {self._out.bind('validate', validator_of(node.python))}({{{entries}}})"]
        if self._names.is_sparse:
            return self._sparse(cls, node)
        if len(values) == len(node.fields) and only_sets_attributes(node.python, node.kind):  # in half the time
            return [f"o = new({cls})", *(f"o.{one.attribute} = {made}" for one, made in values), "return o"]
        arguments = ", ".join(f"{one.argument}={made}" for one, made in values)
        return [f"return {cls}({arguments})"]

    def _sparse(self, cls: str, node: ModelNode) -> list[str]:
        """Return the lines that make an object of a dict without some of the fields."""
        entries, rest = [], []
        for one in node.fields:
            if one.is_optional:
                made = self._converted(one.type, f"v[{one.name!r}]")
                rest.append(f"if {one.name!r} in v: d[{one.argument!r}] = {made}")
            else:
                value = f"v.get({one.name!r})" if accepts_null(one) else f"v[{one.name!r}]"
                entries.append(f"{one.argument!r}: {self._converted(one.type, value)}")
        return [f"d = {{{', '.join(entries)}}}", *rest, f"return {cls}(**d)"]


def _typed_dict(values: list[tuple[FieldNode, str]], *, is_sparse: bool) -> list[str]:
    """Return the lines that make a dict; a key that may be absent is absent for null, unless null is a value of it."""
    entries = ", ".join(f"{one.attribute!r}: {made}" for one, made in values if not one.is_null_absence)
    lines = [f"d = {{{entries}}}"]
    for one, made in values:
        if one.is_null_absence:
            value = f"v.get({one.name!r})" if is_sparse else f"v[{one.name!r}]"
            lines.append(f"if {value} is not None: d[{one.attribute!r}] = {made}")
    return [*lines, "return d"]


def _plain_class(node: Node) -> type:
    """Return the class of a branch's plain values."""
    match node:
        case EnumNode():
            return str
        case ListNode():
            return list
        case ScalarNode():
            return int  # nanoseconds
        case _:
            return dict
