"""Reading a writer's bytes with Spark, and checking that the result is exactly their value.

Spark's ``from_avro`` does not say whether it read to the last byte, and it is more lenient than the specification: it
ignores superfluous bits and reads every byte but 1 as false. So the result is encoded again and compared with the
original. A row that is equal is, byte for byte, the encoding of the values read; one that does not (an array in several
blocks is enough) is doubtful, not wrong.

Enums are read and written as the ints that their numbers are: the same bytes, and no exception for a wrong one.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.sql.text import all_of, quoted, text
from counterfoil.schema.evolution.types import has_enum, split_null
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.types import AvroType

_ENGINE: Final = "sql"


def check_readable(root: AvroType, *, engine: str = _ENGINE) -> None:
    """Raise ``EngineCannot`` for a schema for which Spark's Avro functions have no exact type."""
    _check(root, "", (), engine)


def _check(node: AvroType, where: str, above: tuple[int, ...], engine: str) -> None:
    if id(node) in above:
        raise EngineCannot(engine, field=where, why="a record that contains itself has no type in Spark")
    has_null, inner = split_null(node)
    if inner is None or (isinstance(node, Union) and (isinstance(inner, Union) or not has_null)):
        raise EngineCannot(engine, field=where, why="Spark has no exact type for a union other than null and one type")
    within = (*above, id(inner))
    if id(inner) in above:
        raise EngineCannot(engine, field=where, why="a record that contains itself has no type in Spark")
    if isinstance(inner, Record):
        _check_record(inner, where, within, engine)
    elif isinstance(inner, Array):
        _check(inner.items, f"{where}[]", within, engine)
    elif isinstance(inner, Map):
        _check(inner.values, f"{where}{{}}", within, engine)


def _check_record(node: Record, where: str, above: tuple[int, ...], engine: str) -> None:
    if not node.fields:
        raise EngineCannot(engine, field=where, why="a record without fields has no type in Spark")
    names = [member.name.lower() for member in node.fields]
    if len(set(names)) < len(names):
        raise EngineCannot(engine, field=where, why="two field names differ in letter case only, which Spark overlooks")
    for member in node.fields:
        _check(member.type, f"{where}.{member.name}" if where else member.name, above, engine)


def wire_schema(root: AvroType) -> str:
    """Return the text of a schema with the same encoding for Spark's functions: enums are ints, names are short.

    Every record is declared where it is used, since its name does not matter here.
    """
    return json.dumps(_written(root, count(1)))


def _written(node: AvroType, serial: Iterator[int]) -> Any:
    if isinstance(node, Union):
        return [_written(branch, serial) for branch in node.branches]
    if isinstance(node, Record):
        members = [{"name": member.name, "type": _written(member.type, serial)} for member in node.fields]
        return {"type": "record", "name": f"R{next(serial)}", "fields": members}
    if isinstance(node, Array):
        return {"type": "array", "items": _written(node.items, serial)}
    if isinstance(node, Map):
        return {"type": "map", "values": _written(node.values, serial)}
    if isinstance(node, Fixed):
        return {"type": "fixed", "name": f"F{next(serial)}", "size": node.size}
    return "int" if node.kind is Kind.ENUM else node.kind.value


class WireReader:
    """Writes SQL for values that were read with a wire schema; it numbers the variables of lambda functions."""

    def __init__(self) -> None:
        self._fresh = count(1)

    def variable(self) -> str:
        """Return a unique name for a lambda variable."""
        return f"w{next(self._fresh)}"

    def natural(self, node: AvroType, source: str) -> str:
        """Return the value of ``source`` with symbols for enums; null for null and for an unknown symbol."""
        _, inner = split_null(node)
        if inner is None or not has_enum(inner):
            return source
        if isinstance(inner, Record):
            members = ", ".join(
                f"{text(member.name)}, {self.natural(member.type, f'{source}.{quoted(member.name)}')}"
                for member in inner.fields
            )
            return f"CASE WHEN {source} IS NOT NULL THEN named_struct({members}) END"
        if isinstance(inner, Array):
            item = self.variable()
            return f"transform({source}, {item} -> {self.natural(inner.items, item)})"
        if isinstance(inner, Map):
            key, item = self.variable(), self.variable()
            return f"transform_values({source}, ({key}, {item}) -> {self.natural(inner.values, item)})"
        symbols = ", ".join(text(symbol) for symbol in getattr(inner, "symbols", ()))
        return f"get(array({symbols}), {source})"

    def is_read(self, root: Record, source: str) -> str:
        """Return a condition: the read did not fail.

        A failed read is a record of nulls, so such a record counts as failed.
        """
        required = [member.name for member in root.fields if not split_null(member.type)[0]]
        names = required[:1] or [member.name for member in root.fields]
        return " OR ".join(f"{source}.{quoted(name)} IS NOT NULL" for name in names)

    def is_sound(self, root: Record, source: str) -> str:
        """Return a condition: the value has nothing that the specification forbids, and nothing that Spark changes."""
        return all_of([c for m in root.fields for c in self._conditions(m.type, f"{source}.{quoted(m.name)}")])

    def _conditions(self, node: AvroType, source: str) -> list[str]:
        """Return the conditions for ``source``; each is true for null where null is a value."""
        has_null, inner = split_null(node)
        found = self._conditions_of(inner, source) if inner is not None else []
        return [f"{source} IS NULL OR ({all_of(found)})"] if has_null and found else found

    def _conditions_of(self, node: AvroType, source: str) -> list[str]:
        if isinstance(node, Record):
            return [
                condition
                for member in node.fields
                for condition in self._conditions(member.type, f"{source}.{quoted(member.name)}")
            ]
        if isinstance(node, Array):
            item = self.variable()
            found = self._conditions(node.items, item)
            return [f"forall({source}, {item} -> {all_of(found)})"] if found else []
        if isinstance(node, Map):
            key, item = self.variable(), self.variable()
            found = self._conditions(node.values, item)
            values = [f"forall(map_values({source}), {item} -> {all_of(found)})"] if found else []
            return [f"forall(map_keys({source}), {key} -> is_valid_utf8({key}))", *values]
        if isinstance(node, Enum):
            return [f"{source} >= 0 AND {source} < {len(node.symbols)}"]
        if node.kind is Kind.STRING:
            return [f"is_valid_utf8({source})"]
        return [f"NOT isnan({source})"] if node.kind in {Kind.FLOAT, Kind.DOUBLE} else []


def path_of(source: str, path: tuple[str, ...]) -> str:
    """Return the field at ``path`` of a struct."""
    return ".".join([source, *map(quoted, path)])
