"""What the two writers of code for models have in common: a function for each class, and for a union of several types.

A method returns an expression, which evaluates the expression of its value once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from counterfoil.sdk.serde.avro_codec.source import Source
from counterfoil.sdk.serde.models.description import ModelNode, UnionNode, nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from counterfoil.sdk.serde.models.description import Node


class ModelWriter(ABC):
    """Writes the function ``verb``, which converts values of one type.

    ``differs`` returns whether values of a type are converted, whatever is inside them. ``otherwise`` is the result for
    ``v``, a value of a union whose class is not in the table ``by_class``.
    """

    def __init__(
        self, verb: str, differs: Callable[[Node], bool], constants: Mapping[str, object], *, otherwise: str = "v"
    ) -> None:
        self._verb = verb
        self._differs = differs
        self._otherwise = otherwise
        self._out = Source(constants)
        self._function_by_model: dict[ModelNode, str] = {}
        self._pending: list[tuple[str, ModelNode]] = []

    def compile(self, root: Node) -> Callable[[Any], Any]:
        """Return the function for values of a type."""
        self._write(self._verb, [f"return {self._converted(root, 'v')}"])
        while self._pending:
            name, node = self._pending.pop()
            self._write(name, self._model(node))
        function: Callable[[Any], Any] = self._out.run(f"{self._verb} of a model")[self._verb]
        return function

    @abstractmethod
    def _part(self, node: Node, value: str) -> str:
        """Return the converted value of a type that is no union and no model."""

    @abstractmethod
    def _branches(self, node: UnionNode) -> Iterable[tuple[type, str]]:
        """Return the class of each branch that is converted, and the converted ``v``."""

    @abstractmethod
    def _model(self, node: ModelNode) -> list[str]:
        """Return the lines of the function that converts ``v``, an object of a class."""

    def _is_changed(self, node: Node) -> bool:
        return any(map(self._differs, nodes_of(node)))

    def _converted(self, node: Node, value: str) -> str:
        if not self._is_changed(node):
            return value
        match node:
            case UnionNode(not_null=[only]):
                found = self._out.name("w")
                return f"(None if ({found} := {value}) is None else {self._converted(only, found)})"
            case UnionNode():
                return f"{self._union(node)}({value})"
            case ModelNode():
                return f"{self._name(node)}({value})"
            case _:
                return self._part(node, value)

    def _union(self, node: UnionNode) -> str:
        """Write a function for values of a union; it is complete before the function that calls it begins."""
        table, name = self._out.name("by_class"), self._out.name("union")
        entries = [f"{self._out.bind('Class', cls)}: lambda v: {result}" for cls, result in self._branches(node)]
        self._out.line(f"{table} = {{{', '.join(entries)}}}")
        otherwise = self._otherwise.replace("by_class", table)
        self._write(name, [f"f = {table}.get(v.__class__)", f"return {otherwise} if f is None else f(v)"])
        return name

    def _name(self, node: ModelNode) -> str:
        known = self._function_by_model.get(node)
        if known is None:
            known = self._function_by_model[node] = self._out.name(self._verb)
            self._pending.append((known, node))
        return known

    def _write(self, name: str, lines: list[str]) -> None:
        self._out.line(f"def {name}(v):")
        for line in lines:
            self._out.line(f" {line}")
