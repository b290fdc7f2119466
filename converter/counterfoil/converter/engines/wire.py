"""A writer's bytes as Spark reads them, and whether what it read is what stands there.

Spark's ``from_avro`` does not say whether it read to the last byte, and is more lenient than the specification. So it
is given a *wire schema*, in which the same bytes have a plainer type, and the rest is said in SQL:

* an int is read as a long and its range is asked (Avro's Java reader drops the bits that are too many);
* an enum is read as the long that its number is, a boolean as the one byte that it is;
* the length that the values would have in their shortest encoding is reckoned and compared with the length there is: so
  nothing is left behind, nothing is missing, and no number is longer than it must be.

A row that passes is, byte for byte, the encoding of the values read. One that does not is doubtful, not wrong.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.sql_text import all_of, quoted, text
from counterfoil.schema.evolution.types import split_null
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.types import AvroType

_BOOLEAN: Final = "counterfoil.wire.Boolean"
_VARINT_LIMITS: Final = tuple(1 << (7 * size - 1) for size in range(1, 9))
_SAFE_LONG: Final = 1 << 62
_ENGINE: Final = "sql"


def check_readable(root: AvroType, *, engine: str = _ENGINE) -> None:
    """Raise ``EngineCannot`` for a schema that Spark's Avro functions have no exact type for."""
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
    """The text of the wire schema, for ``from_avro``."""
    return json.dumps(_written(root, count(1), set()))


def _written(node: AvroType, serial: Iterator[int], known: set[str]) -> Any:
    """A type as its wire type. Names do not matter there, so that each record is declared anew."""
    if isinstance(node, Union):
        return [_written(branch, serial, known) for branch in node.branches]
    if isinstance(node, Record):
        return {
            "type": "record",
            "name": f"R{next(serial)}",
            "fields": [{"name": member.name, "type": _written(member.type, serial, known)} for member in node.fields],
        }
    if isinstance(node, Array):
        return {"type": "array", "items": _written(node.items, serial, known)}
    if isinstance(node, Map):
        return {"type": "map", "values": _written(node.values, serial, known)}
    if isinstance(node, Fixed):
        return {"type": "fixed", "name": f"F{next(serial)}", "size": node.size}
    if node.kind is Kind.BOOLEAN:
        if _BOOLEAN in known:
            return _BOOLEAN
        known.add(_BOOLEAN)
        return {"type": "fixed", "name": _BOOLEAN, "size": 1}
    return "long" if node.kind in {Kind.INT, Kind.ENUM} else node.kind.value


class WireReader:
    """SQL for values that were read with a wire schema. ``fresh`` counts the names of lambda variables."""

    def __init__(self) -> None:
        self._fresh = count(1)

    def variable(self) -> str:
        """A name for a lambda variable that nothing else has."""
        return f"w{next(self._fresh)}"

    def natural(self, node: AvroType, source: str) -> str:
        """The value that ``source`` reads, as the type's own SQL type; null for null."""
        _, inner = split_null(node)
        if isinstance(inner, Record):
            members = ", ".join(
                f"{text(member.name)}, {self.natural(member.type, f'{source}.{quoted(member.name)}')}"
                for member in inner.fields
            )
            return f"CASE WHEN {source} IS NOT NULL THEN named_struct({members}) END"
        if isinstance(inner, Array):
            item = self.variable()
            return _unless_same(f"transform({source}, {item} -> ", self.natural(inner.items, item), item, source)
        if isinstance(inner, Map):
            key, item = self.variable(), self.variable()
            made = self.natural(inner.values, item)
            return _unless_same(f"transform_values({source}, ({key}, {item}) -> ", made, item, source)
        if inner is None:
            return source
        if isinstance(inner, Enum):
            cases = " ".join(f"WHEN {number} THEN {text(symbol)}" for number, symbol in enumerate(inner.symbols))
            return f"CASE {source} {cases} END" if cases else "cast(NULL AS string)"
        if inner.kind is Kind.BOOLEAN:
            return f"CASE {source} WHEN X'00' THEN false WHEN X'01' THEN true END"
        return f"try_cast({source} AS int)" if inner.kind is Kind.INT else source

    def is_sound(self, root: Record, source: str, size: str) -> str:
        """A condition: ``source`` was read from ``size`` (in SQL) bytes that are the encoding of its values."""
        conditions = [f"({self._record_length(root, source)}) = {size}"]
        for member in root.fields:
            conditions += self._conditions(member.type, f"{source}.{quoted(member.name)}")
        conditions.append(_is_read(root, source))
        return f"coalesce({all_of(conditions)}, false)"

    def _conditions(self, node: AvroType, source: str) -> list[str]:
        """What must hold for ``source`` besides its length; each condition is true for null where null is a value."""
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
            item = self.variable()
            found = self._conditions(node.values, item)
            values = [f"forall(map_values({source}), {item} -> {all_of(found)})"] if found else []
            key = self.variable()
            return [f"forall(map_keys({source}), {key} -> is_valid_utf8({key}))", *values]
        if isinstance(node, Enum):
            return [f"{source} BETWEEN 0 AND {len(node.symbols) - 1}"]
        return [template.format(source) for template in _CONDITION_BY_KIND.get(node.kind, ())]

    def _record_length(self, node: Record, source: str) -> str:
        parts = [self._length(member.type, f"{source}.{quoted(member.name)}") for member in node.fields]
        fixed = sum(int(part) for part in parts if part.isdigit())
        return " + ".join([str(fixed), *(part for part in parts if not part.isdigit())])

    def _length(self, node: AvroType, source: str) -> str:
        """How many bytes the shortest encoding of ``source`` has."""
        has_null, inner = split_null(node)
        if inner is None:
            return "1" if isinstance(node, Union) else "0"
        length = self._length_of(inner, source)
        if not has_null:
            return length
        return f"(CASE WHEN {source} IS NULL THEN 1 ELSE 1 + {length} END)"

    def _length_of(self, node: AvroType, source: str) -> str:
        if isinstance(node, Record):
            return f"({self._record_length(node, source)})"
        if isinstance(node, Array):
            item, total = self.variable(), self.variable()
            length = self._length(node.items, item)
            items = (
                f"size({source}) * {length}"
                if length.isdigit()
                else f"aggregate({source}, 0, ({total}, {item}) -> {total} + {length})"
            )
            return f"(CASE WHEN size({source}) = 0 THEN 1 ELSE 1 + {varint_length(f'size({source})')} + {items} END)"
        if isinstance(node, Map):
            return self._map_length(node, source)
        if isinstance(node, Fixed):
            return str(node.size)
        if node.kind in _SIZE_BY_KIND:
            return _SIZE_BY_KIND[node.kind]
        if node.kind in {Kind.STRING, Kind.BYTES}:
            size = f"octet_length({source})"
            return f"({varint_length(size)} + {size})"
        return varint_length(source)

    def _map_length(self, node: Map, source: str) -> str:
        entry, total = self.variable(), self.variable()
        key = f"octet_length({entry}.key)"
        one = f"{varint_length(key)} + {key} + {self._length(node.values, f'{entry}.value')}"
        entries = f"aggregate(map_entries({source}), 0, ({total}, {entry}) -> {total} + {one})"
        return f"(CASE WHEN size({source}) = 0 THEN 1 ELSE 1 + {varint_length(f'size({source})')} + {entries} END)"


_SIZE_BY_KIND: Final = {Kind.BOOLEAN: "1", Kind.FLOAT: "4", Kind.DOUBLE: "8", Kind.NULL: "0"}
_CONDITION_BY_KIND: Final = {
    Kind.INT: ("{0} BETWEEN -2147483648 AND 2147483647",),
    Kind.LONG: (f"{{0}} BETWEEN {-_SAFE_LONG} AND {_SAFE_LONG - 1}",),
    Kind.FLOAT: ("NOT isnan({0})",),
    Kind.DOUBLE: ("NOT isnan({0})",),
    Kind.STRING: ("is_valid_utf8({0})",),
    Kind.BOOLEAN: ("{0} = X'00' OR {0} = X'01'",),
}


def varint_length(source: str) -> str:
    """How many bytes the shortest zigzag varint of a number has."""
    cases = " ".join(
        f"WHEN {source} BETWEEN {-limit} AND {limit - 1} THEN {size}" for size, limit in enumerate(_VARINT_LIMITS, 1)
    )
    return f"(CASE {cases} WHEN {source} BETWEEN {-(1 << 62)} AND {(1 << 62) - 1} THEN 9 ELSE 10 END)"


def _is_read(root: Record, source: str) -> str:
    """A condition: the read did not fail. A failed one is a record of nulls, so such a record is not believed."""
    required = [member.name for member in root.fields if not split_null(member.type)[0]]
    names = required[:1] or [member.name for member in root.fields]
    return " OR ".join(f"{source}.{quoted(name)} IS NOT NULL" for name in names)


def _unless_same(opening: str, made: str, variable: str, source: str) -> str:
    """``opening made)``, or the source itself when nothing was made of the variable."""
    return source if made == variable else f"{opening}{made})"


def path_of(source: str, path: tuple[str, ...]) -> str:
    """The field at ``path`` of a struct."""
    return ".".join([source, *map(quoted, path)])
