"""Drawn shapes, and shapes that follow them by one change or two, at any depth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from strategies.fleets.shapes import Field, Shape, changed, holds, records_of, shapes_of, unrolled

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

NAMES: Final = ("a", "b", "c", "d", "e", "f")
INNER: Final = ("p", "q", "r", "s")
LETTERS: Final = ("NEW", "PAID", "SENT", "GONE", "LATE")
UNITS: Final = ("EUR", "EUR.cent", "USD")
_CONTAINERS: Final = ("array", "map")
_DEPTH: Final = 2
_SOME: Final = 2


class Drawing:
    """Draws shapes of a language; names of types are never used again for another type."""

    def __init__(self, random: Random, language: str, kinds: tuple[str, ...]) -> None:
        self._random = random
        self._language = language
        self._kinds = kinds
        self._count = 0

    @property
    def _is_protobuf(self) -> bool:
        return self._language == "PROTOBUF"

    def chance(self, share: float) -> bool:
        """Return true in a share of the calls."""
        return self._random.random() < share

    def _name(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def record(self, name: str = "Order", names: tuple[str, ...] = NAMES, depth: int = 0) -> Shape:
        """Return a record with some of the fields."""
        chosen = self._random.sample(names, self._random.randint(2, min(4, len(names))))
        fields: list[Field] = []
        for each in chosen:
            fields.append(self.field(each, self._free(fields, names.index(each) + 1), depth))
            if depth == 0 and self.chance(0.15):  # one type in two places
                named = [one for field in fields for one in shapes_of(field.shape) if one.name]
                if named and len(fields) < len(chosen):
                    shared = replace(self._random.choice(named), is_nullable=False)
                    taken = {*chosen, *(field.name for field in fields)}
                    rest = [one for one in names if one not in taken]
                    if rest:
                        shape = replace(shared, is_nullable=self._is_protobuf and bool(shared.fields))
                        fields.append(Field(rest[0], self._free(fields, 9), shape))
        made = Shape("record", name, self._settled(self._with_oneof(fields)))
        is_recursive = name != "OrderKey" and self.chance(0.14)
        return self._inside_itself(made) if is_recursive else made

    def _with_oneof(self, fields: list[Field]) -> list[Field]:
        """Return fields of which two are those of a oneof, now and then."""
        fit = [each for each in fields if each.shape.item is None]
        if not self._is_protobuf or len(fit) < _SOME or not self.chance(0.2):
            return fields
        chosen = self._random.sample(fit, _SOME)
        return [replace(each, oneof="choice") if each in chosen else each for each in fields]

    @staticmethod
    def _settled(fields: Iterable[Field]) -> tuple[Field, ...]:
        """Return fields of which those of a oneof may be absent, and are no containers."""
        return tuple(
            each
            if not each.oneof
            else replace(each, oneof="")
            if each.shape.item is not None
            else replace(each, shape=replace(each.shape, is_nullable=True))
            for each in fields
        )

    def _inside_itself(self, record: Shape) -> Shape:
        """Return a record that has itself inside: by a field that may be null, or in a container."""
        kind = self._random.choice(("record", "record", *_CONTAINERS))
        inner = Shape(kind, item=record) if kind in _CONTAINERS else replace(record, is_nullable=True)
        added = Field("z", self._free([*record.fields], 12), inner, self._language == "JSON" and self.chance(0.3))
        return replace(record, fields=(*record.fields, added))

    def _free(self, fields: list[Field], wanted: int) -> int:
        taken = {each.number for each in fields}
        while wanted in taken:
            wanted += 7
        return wanted

    def field(self, name: str, number: int, depth: int = 0) -> Field:
        """Return a field."""
        shape = self.shape(depth)
        if self._is_protobuf:
            is_nullable = bool(shape.fields) or (shape.item is None and self.chance(0.25))
            shape = replace(shape, is_nullable=is_nullable)
        elif self.chance(0.25):
            shape = replace(shape, is_nullable=True)
        is_optional = self._language == "JSON" and self.chance(0.25)
        is_number = shape.kind in {"int", "long", "integer", "double", "number"}
        unit = self._random.choice(UNITS) if is_number and depth == 0 and self.chance(0.3) else ""
        return Field(name, number, shape, is_optional, self._language == "AVRO" and self.chance(0.35), unit)

    def shape(self, depth: int) -> Shape:
        """Return a shape that is nothing but a plain type below a depth."""
        chance = self._random.random()
        if chance < 0.22:
            return self.enum()
        if chance < 0.42 and depth < _DEPTH:
            return self.record(self._name("R"), INNER, depth + 1)
        if chance < 0.6 and depth < _DEPTH:
            return Shape(self._random.choice(_CONTAINERS), item=self._item(depth + 1))
        if chance < 0.66 and self._language != "PROTOBUF":
            kinds = [each for each in self._kinds if each in {"string", "boolean", "int", "double", "integer"}]
            return Shape("union", kinds=tuple(self._random.sample(kinds, 2)))
        return Shape(self._random.choice(self._kinds))

    def _item(self, depth: int) -> Shape:
        shape = self.shape(_DEPTH)
        if self.chance(0.4):
            shape = self.record(self._name("R"), INNER, max(depth, _DEPTH))
        is_nullable = not self._is_protobuf and self.chance(0.15)
        return replace(shape, is_nullable=is_nullable)

    def enum(self) -> Shape:
        """Return an enum with a few symbols; in Protobuf each name begins with that of the enum."""
        name = self._name("E")
        letters = self._random.sample(LETTERS, self._random.randint(2, 3))
        names = [f"{name}_{each}" for each in letters] if self._is_protobuf else letters
        fallback = names[0] if self._language == "AVRO" and self.chance(0.4) else ""
        return Shape(
            "enum", name, symbols=tuple((each, number) for number, each in enumerate(names)), fallback=fallback
        )

    def changed(self, shape: Shape) -> Shape:
        """Return a shape with one change, or two of them."""
        for _ in range(2 if self.chance(0.2) else 1):
            made = unrolled(self._changed_once(shape))
            is_empty = any(each.kind == "record" and not each.fields for each in shapes_of(made))
            shape = shape if is_empty else made  # a record with nothing but itself
        return shape

    def _changed_once(self, shape: Shape) -> Shape:
        enums = [each for each in shapes_of(shape) if each.symbols]
        if enums and self.chance(0.3):
            chosen = self._random.choice(enums)
            symbols, fallback = self._other_symbols(chosen), chosen.fallback
            fallback = fallback if fallback in dict(symbols) else ""
            return changed(
                shape,
                lambda one: replace(one, symbols=symbols, fallback=fallback) if one.name == chosen.name else one,
            )
        records = list(records_of(shape))
        chosen = self._random.choice(records)
        items = [each.item for each in shapes_of(shape) if each.item is not None and not each.item.name]
        if items and self.chance(0.15):
            item, other = self._random.choice(items), Shape(self._random.choice(self._kinds))
            return changed(shape, lambda one: replace(one, item=other) if one.item == item else one)
        fields = self._other_fields(chosen, depth=0 if chosen is records[0] else _DEPTH)
        return changed(shape, lambda one: replace(one, fields=fields) if one.name == chosen.name else one)

    def _other_symbols(self, enum: Shape) -> tuple[tuple[str, int], ...]:
        symbols = list(enum.symbols)
        prefix = f"{enum.name}_" if self._is_protobuf else ""
        rest = [f"{prefix}{each}" for each in LETTERS if f"{prefix}{each}" not in dict(symbols)]
        index = self._random.randrange(len(symbols))
        match self._random.choice(("add", "add", "remove", "rename", "swap", "number")):
            case "remove" if len(symbols) > 1:
                del symbols[index if not self._is_protobuf else max(index, 1)]
            case "rename" if rest:
                symbols[index] = (self._random.choice(rest), symbols[index][1])
            case "swap" if len(symbols) > 1:
                (first, one), (second, two) = symbols[0], symbols[-1]
                symbols[0], symbols[-1] = (second, one), (first, two)
            case "number" if self._is_protobuf and index:
                symbols[index] = (symbols[index][0], symbols[index][1] + 10)
            case _ if rest:
                symbols.append((self._random.choice(rest), max(number for _, number in symbols) + 1))
        return tuple(symbols)

    def _other_fields(self, record: Shape, depth: int) -> tuple[Field, ...]:
        fields = list(record.fields)
        index = self._random.randrange(len(fields))
        one = fields[index]
        taken = {name for field in fields for name in (field.name, *field.aliases)}
        names = [each for each in (NAMES if depth == 0 else INNER) if each not in taken]
        is_recursive = holds(one.shape, record.name)
        choices = ["retype", "retype", "remove", "rename", "add", "null", "default", "unit", "wider"]
        choices += {"PROTOBUF": ["number", "number", "swap", "oneof"], "JSON": ["optional", "optional"]}.get(
            self._language, ["alias"]
        )
        wanted = self._random.choice(choices)
        if wanted in {"oneof", "alias"}:
            fields[index] = self._marked(one, names)
        elif not is_recursive or wanted not in {"null", "optional", "default"}:  # or no record would end
            self._change(fields, index, wanted, names, depth)
        return self._settled(fields)

    def _change(self, fields: list[Field], index: int, wanted: str, names: list[str], depth: int) -> None:
        one = fields[index]
        match wanted:
            case "remove" if len(fields) > 1:
                del fields[index]
            case "rename" if names:
                moved = self._is_protobuf and self.chance(0.7)
                number = self._free(fields, one.number + 30) if moved else one.number
                fields[index] = replace(one, name=self._random.choice(names), number=number)
            case "add" if names:
                name = self._random.choice(names)
                added = self.field(name, self._free(fields, (NAMES + INNER).index(name) + 1), max(depth, 1))
                fields.append(replace(added, has_default=added.has_default or self.chance(0.5)))
            case "null" if not (self._is_protobuf and (one.shape.fields or one.shape.item)):
                fields[index] = replace(one, shape=replace(one.shape, is_nullable=not one.shape.is_nullable))
            case "default":
                fields[index] = replace(one, has_default=self._language == "AVRO" and not one.has_default)
            case "unit" if one.unit:
                fields[index] = replace(one, unit=self._random.choice(UNITS))
            case "optional":
                fields[index] = replace(one, is_optional=not one.is_optional)
            case "number" | "swap" as change:
                self._renumber(fields, index, is_swapped=change == "swap" and len(fields) > 1)
            case "wider":
                fields[index] = self._wider(one)
            case _:
                fields[index] = self._retyped(one, depth)

    def _marked(self, one: Field, names: list[str]) -> Field:
        """Return a field of Protobuf in a oneof, or in none, and one of Avro with another name and an alias."""
        if self._is_protobuf:
            return replace(one, oneof="" if one.oneof else "choice")
        name = self._random.choice(names or [one.name])
        return one if name == one.name else replace(one, name=name, aliases=(one.name, *one.aliases))

    def _renumber(self, fields: list[Field], index: int, *, is_swapped: bool) -> None:
        one, other = fields[index], fields[index - 1]
        if is_swapped:
            fields[index - 1] = replace(other, number=one.number)
        number = other.number if is_swapped else self._free(fields, one.number + 20)
        fields[index] = replace(one, number=number)

    def _wider(self, one: Field) -> Field:
        """Return a field whose type is near the one before, if there is one."""
        kinds = () if one.shape.kinds else _WIDER.get(one.shape.kind, ())
        near = [each for each in kinds if each in self._kinds]
        return replace(one, shape=replace(one.shape, kind=self._random.choice(near))) if near else one

    def _retyped(self, one: Field, depth: int) -> Field:
        if self.chance(0.2):
            other = self.field(one.name, one.number, max(depth, 1))
            return replace(other, unit="")
        kinds = [each for each in self._kinds if each != one.shape.kind]
        if self._is_protobuf and self.chance(0.8):  # which of them are the same value, no document says
            is_plain = one.shape.kind not in {"boolean", "enum"}
            kinds = [
                each for each in kinds if each != "boolean" and (is_plain or each in {"string", "double", "bytes"})
            ]
        kind = self._random.choice(kinds)
        is_nullable = one.shape.is_nullable and not (self._is_protobuf and (one.shape.fields or one.shape.item))
        return replace(one, shape=Shape(kind, is_nullable=is_nullable), unit="")

    def repaired(self, shape: Shape, earlier: Shape) -> Shape:
        """Return a shape with one field as it was earlier."""
        chosen = self._random.choice(earlier.fields)
        fields = [each for each in shape.fields if each.name != chosen.name and each.number != chosen.number]
        names = {one.name for one in shapes_of(chosen.shape) if one.name}
        made = replace(shape, fields=(*fields, chosen))
        parts = {one.name: one for one in shapes_of(chosen.shape) if one.name}
        found = unrolled(
            changed(
                made, lambda one: replace(parts[one.name], is_nullable=one.is_nullable) if one.name in names else one
            )
        )
        is_empty = any(each.kind == "record" and not each.fields for each in shapes_of(found))
        return shape if is_empty else found


_WIDER: Final = {
    "int": ("long", "float", "double", "sint", "timestamp-millis", "date"),
    "long": ("double", "int", "timestamp-millis", "timestamp-micros"),
    "float": ("double",),
    "string": ("bytes",),
    "timestamp-millis": ("timestamp-micros", "long"),
    "timestamp-micros": ("timestamp-millis", "long"),
    "integer": ("number",),
    "number": ("integer",),
    "double": ("float",),
    "uint": ("int", "fixed"),
}
