"""Generating methods that copy values with parts to an equal type, whose fields may be in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.converter.engines.java.source import block
from counterfoil.schema.evolution.tree import Array, Map, Opaque, Record, Union
from counterfoil.schema.evolution.types import same_values, split_null

if TYPE_CHECKING:
    from counterfoil.converter.engines.java.source import JavaClass
    from counterfoil.schema.evolution.tree import Node


_CLASS_BY_KIND: Final = {"record": "Object[]", "array": "Items", "map": "Entries"}


class Copies:
    """Makes the method for each pair of types once: types may contain themselves."""

    def __init__(self, java: JavaClass) -> None:
        self._java = java
        self._name_by_pair: dict[tuple[int, int], str] = {}

    def call(self, source: Node, target: Node, where: str) -> str | None:
        """Return the method that copies a value that is not null; None where the object itself is the copy."""
        source, target = _paired(source, target)
        if _is_aligned(source, target, where, set()):
            return None
        known = self._name_by_pair.get((id(source), id(target)))
        if known is not None:
            return known
        name = self._name_by_pair[id(source), id(target)] = self._java.fresh("m")
        self._java.method(f"Object {name}(Object given)", self._body(source, target, where))
        return name

    def _body(self, source: Node, target: Node, where: str) -> list[str]:
        if isinstance(source, Record) and isinstance(target, Record):
            names = [member.name for member in source.fields]
            lines = ["Object[] from = (Object[]) given;", f"Object[] made = new Object[{len(names)}];"]
            for number, member in enumerate(target.fields):
                place = names.index(member.name)
                one = self._one(f"from[{place}]", source.fields[place].type, member.type, where)
                lines.append(f"made[{number}] = {one};")
            return [*lines, "return made;"]
        if isinstance(source, Array) and isinstance(target, Array):
            one, cast, end = self._one("from.values[i]", source.items, target.items, where), "Items", "new Items(made)"
        elif isinstance(source, Map) and isinstance(target, Map):
            one, cast = self._one("from.values[i]", source.values, target.values, where), "Entries"
            end = "new Entries((Texts[]) java.util.Arrays.copyOf(from.keys, from.count), made)"
        elif isinstance(source, Union) and isinstance(target, Union):
            return self._branches(source, target, where)
        else:
            raise EngineCannot(ENGINE, field=where, why=f"a copy of {source.kind} as {target.kind}")
        start = [f"{cast} from = ({cast}) given;", "Object[] made = new Object[from.count];"]
        return [*start, *block("for (int i = 0; i < made.length; i++)", [f"made[i] = {one};"]), f"return {end};"]

    def _branches(self, source: Union, target: Union, where: str) -> list[str]:
        """Return the statements that copy a value of a union: the branches are equal, one by one."""
        lines = []
        for index, (left, right) in enumerate(zip(source.branches, target.branches, strict=True)):
            name = self.call(left, right, where)
            if name is None:
                continue
            if source.is_tagged:
                lines += [f"if (given instanceof Tagged && ((Tagged) given).index == {index})"]
                lines += [f"  return new Tagged({index}, {name}(((Tagged) given).value));"]
            else:
                lines += [f"if (given instanceof {_CLASS_BY_KIND[left.kind]}) return {name}(given);"]
        return [*lines, "return given;"]

    def _one(self, value: str, source: Node, target: Node, where: str) -> str:
        name = self.call(split_null(source)[1] or source, target, where)
        return value if name is None else f"{value} == null ? null : {name}({value})"


def _paired(source: Node, target: Node) -> tuple[Node, Node]:
    """Return two types without null; of a union, the branch that is equal to the other type."""
    left, right = split_null(source)[1] or source, split_null(target)[1] or target
    if isinstance(right, Union) and not isinstance(left, Union):
        right = next((branch for branch in right.branches if same_values(left, branch)), right)
    return left, right


def _is_aligned(source: Node, target: Node, where: str, seen: set[tuple[int, int]]) -> bool:
    """Return whether the objects of both types are the same: fields are in one order."""
    source, target = _paired(source, target)
    if (id(source), id(target)) in seen:
        return True
    seen.add((id(source), id(target)))
    if isinstance(source, Record) and isinstance(target, Record):
        names = [[member.name for member in each.fields] for each in (source, target)]
        return names[0] == names[1] and all(
            _is_aligned(left.type, right.type, where, seen)
            for left, right in zip(source.fields, target.fields, strict=True)
        )
    if isinstance(source, Array) and isinstance(target, Array):
        return _is_aligned(source.items, target.items, where, seen)
    if isinstance(source, Map) and isinstance(target, Map):
        return _is_aligned(source.values, target.values, where, seen)
    if isinstance(source, Union) and isinstance(target, Union):
        return all(
            _is_aligned(left, right, where, seen) for left, right in zip(source.branches, target.branches, strict=True)
        )
    if isinstance(source, Opaque):
        raise EngineCannot(ENGINE, field=where, why=f"a copy of {source.words}")
    return True
