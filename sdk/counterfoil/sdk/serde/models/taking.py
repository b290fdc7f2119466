"""Objects of a program as plain values that codecs write: generated code, without ``asdict``.

A model becomes a dict, an Enum its symbol, a tuple or a set a list; where a union has several models, a model becomes
``("full.name", dict)``. A value that is not of its declared type stays as it is, so that the codec raises the error,
which has the path.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from counterfoil.sdk.errors import EncodeError, ModelError
from counterfoil.sdk.serde.models.description import (
    EnumNode,
    ListNode,
    MapNode,
    ModelKind,
    ModelNode,
    RootNode,
    UnionNode,
    models_in,
)
from counterfoil.sdk.serde.models.writer import ModelWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from counterfoil.sdk.serde.models.description import Node


def compile_taking(root: Node, name_of: Callable[[ModelNode], str]) -> Callable[[Any], Any]:
    """Return a function that makes a plain value of an object.

    ``name_of`` returns the name of a class among several in a union. Raises ``ModelError``. The function raises
    ``EncodeError`` for an object of several classes of a union.
    """
    return _TakingWriter(name_of).compile(root)


def _is_items(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping))


def _is_entries(value: object) -> bool:
    return isinstance(value, Mapping)


def _choose(take_by_class: Mapping[type, Callable[[Any], Any]], value: object) -> Any:
    """Return the plain value of an object whose class is a subclass of one in a union."""
    fitting = [cls for cls in take_by_class if isinstance(value, cls)]
    closest = [cls for cls in fitting if not any(other is not cls and issubclass(other, cls) for other in fitting)]
    if len(closest) > 1:
        candidates = " and ".join(cls.__name__ for cls in closest)
        expected, got = "an object of one class of the union", f"{type(value).__name__}, which is {candidates}"
        raise EncodeError(f"The value: expected {expected}; got {got}", expected=expected, got=got)
    return take_by_class[closest[0]](value) if closest else value


def _differs(node: Node) -> bool:
    match node:
        case EnumNode() | RootNode():
            return True
        case ListNode(python=python):
            return python is not list
        case UnionNode():
            return len(models_in(node)) > 1
        case ModelNode(kind=kind, fields=fields):
            return kind is not ModelKind.TYPED_DICT or any(one.name != one.attribute for one in fields)
        case _:
            return False


class _TakingWriter(ModelWriter):
    """Writes the code that makes plain values."""

    def __init__(self, name_of: Callable[[ModelNode], str]) -> None:
        constants = {"is_items": _is_items, "is_entries": _is_entries, "choose": _choose}
        super().__init__("take", _differs, constants, otherwise="choose(by_class, v)")
        self._name_of = name_of

    def _part(self, node: Node, value: str) -> str:
        found = self._out.name("w")
        match node:
            case EnumNode(python=python, symbol_attribute=attribute):
                is_member = f"({found} := {value}).__class__ is {self._out.bind('Enum', python)}"
                return f"({found}.{attribute} if {is_member} else {found})"
            case RootNode(python=python, root=root):
                inner = self._converted(root, f"{found}.root")
                return f"({inner} if isinstance({found} := {value}, {self._out.bind('Root', python)}) else {found})"
            case ListNode(items=items, python=python):
                item = self._out.name("v")
                plain = f"[{self._converted(items, item)} for {item} in {found}]"
                is_list = f"({found} := {value}).__class__ is {self._out.bind('kind', python)} or is_items({found})"
                return f"({plain} if {is_list} else {found})"
            case MapNode(values=values):
                key, item = self._out.name("k"), self._out.name("v")
                plain = f"{{{key}: {self._converted(values, item)} for {key}, {item} in {found}.items()}}"
                return f"({plain} if ({found} := {value}).__class__ is dict or is_entries({found}) else {found})"
            case _:
                raise AssertionError(node)

    def _branches(self, node: UnionNode) -> Iterable[tuple[type, str]]:
        has_names = len(models_in(node)) > 1
        for branch in self._known_by_class(node):
            plain = self._converted(branch, "v")
            if has_names and isinstance(branch, ModelNode):
                plain = f"({self._name_of(branch)!r}, {plain})"
            yield _class_of(branch), plain

    def _model(self, node: ModelNode) -> list[str]:
        cls = self._out.bind("Class", _class_of(node))
        lines = self._entries(node) if node.kind is ModelKind.TYPED_DICT else self._attributes(node)
        return [f"if v.__class__ is not {cls} and not isinstance(v, {cls}): return v", *lines]

    def _attributes(self, node: ModelNode) -> list[str]:
        entries = [f"{one.name!r}: {self._converted(one.type, f'v.{one.attribute}')}" for one in node.fields]
        return [f"return {{{', '.join(entries)}}}"]

    def _entries(self, node: ModelNode) -> list[str]:
        lines = ["d = dict(v)"]
        for one in node.fields:
            if one.name != one.attribute or self._is_changed(one.type):
                plain = self._converted(one.type, f"d.pop({one.attribute!r})")
                lines.append(f"if {one.attribute!r} in d: d[{one.name!r}] = {plain}")
        return [*lines, "return d"]

    def _known_by_class(self, node: UnionNode) -> list[Node]:
        """Return the branches whose values are converted, or named, by their class; codecs distinguish the others."""
        models = models_in(node)
        dicts = [one for one in models if one.kind is ModelKind.TYPED_DICT]
        if len(dicts) > 1 and any(map(self._is_changed, dicts)):
            names = " | ".join(one.python.__name__ for one in dicts)
            raise ModelError(
                f"{names} cannot be distinguished by class when they are written; use dataclasses", type_text=names
            )
        skipped = dicts if len(dicts) > 1 else []
        named = models if len(models) > 1 else []
        return [one for one in node.branches if one not in skipped and (one in named or self._is_changed(one))]


def _class_of(node: Node) -> type:
    """Return the class of a branch's values."""
    match node:
        case EnumNode(python=python) | ListNode(python=python) | RootNode(python=python):
            return python
        case ModelNode(python=python, kind=kind) if kind is not ModelKind.TYPED_DICT:
            return python
        case _:
            return dict
