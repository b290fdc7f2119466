"""Drawn schemas of one shape in three languages, and their records, written and read by other projects' libraries.

Avro's records are those of fastavro, Protobuf's those of google.protobuf with descriptors that are made here, and those
of JSON Schema are of json and jsonschema: nothing of them is read by the code that judges.
"""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import fastavro
import jsonschema
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from random import Random

NAMES: Final = ("a", "b", "c")
INNER: Final = ("p", "q")
SYMBOLS: Final = ("X", "Y", "Z")
PLAIN: Final = ("string", "int", "long", "double", "boolean")
KINDS: Final = (*PLAIN, "enum", "nested")
LIMITS: Final = (0, 5, 10)
TEXTS: Final = ("red", "green")
ABSENT: Final = object()


@dataclass(frozen=True)
class Field:
    """A field of a drawn schema; ``promised`` are the limits of its numbers, or the values of its texts."""

    name: str
    kind: str
    number: int
    is_optional: bool = False
    has_default: bool = False
    symbols: tuple[str, ...] = ()
    inner: tuple[Field, ...] = ()
    promised: tuple[Any, ...] = ()


Model = tuple[Field, ...]


def drawn_field(random: Random, name: str, kinds: Sequence[str] = KINDS) -> Field:
    """Return a field of a kind; its number is that of its name, most of the time."""
    kind = random.choice(kinds)
    known = (*NAMES, *INNER).index(name) + 1
    number = known if random.random() < 0.9 else known + 20
    symbols: tuple[str, ...] = ()
    inner: Model = ()
    promised: tuple[Any, ...] = ()
    if kind == "enum":
        symbols = tuple(f"{each}_{name}" for each in SYMBOLS if random.random() < 0.7) or (f"X_{name}",)
    if kind == "nested":
        inner = tuple(drawn_field(random, each, PLAIN) for each in INNER if random.random() < 0.7)
        inner = inner or (drawn_field(random, "p", PLAIN),)
    if kind in {"int", "long"} and random.random() < 0.5:
        promised = tuple(sorted(random.sample(LIMITS, 2)))
    if kind == "string" and random.random() < 0.3:
        promised = TEXTS[: random.randint(1, 2)]
    is_optional = random.random() < 0.3
    return Field(name, kind, number, is_optional, random.random() < 0.4, symbols, inner, promised)


def drawn_model(random: Random) -> Model:
    """Return the fields of a new schema."""
    names = random.sample(NAMES, random.randint(1, len(NAMES)))
    return tuple(drawn_field(random, name) for name in names)


def evolved(random: Random, model: Model) -> Model:
    """Return a schema that follows another one: a field is added, removed, or changed."""
    fields = {each.name: each for each in model}
    name = random.choice(NAMES)
    known = fields.get(name)
    if known is None:
        fields[name] = drawn_field(random, name)
        if random.random() < 0.7:
            fields[name] = replace(fields[name], is_optional=True, has_default=True)
    else:
        change = random.choice(("removed", "optional", "default", "other", "wider", "inner", "promise"))
        if change == "removed" and len(fields) > 1:
            del fields[name]
        elif change == "optional":
            fields[name] = replace(known, is_optional=not known.is_optional)
        elif change == "default":
            fields[name] = replace(known, has_default=not known.has_default)
        elif change == "promise":
            fields[name] = replace(known, promised=())
        elif change == "wider" and known.kind in {"int", "long"}:
            fields[name] = replace(known, kind="long" if known.kind == "int" else "double", promised=())
        elif change == "inner" and known.inner:
            fields[name] = replace(known, inner=(*known.inner[1:], drawn_field(random, known.inner[0].name, PLAIN)))
        else:
            fields[name] = drawn_field(random, name)
    return tuple(fields.values())


def projected(model: Model, paths: Collection[str]) -> Model:
    """Return a schema with those fields alone that are on a path, or inside of one."""
    found = []
    for each in model:
        if each.name in paths:
            found.append(each)
        elif inner := tuple(one for one in each.inner if f"{each.name}.{one.name}" in paths):
            found.append(replace(each, inner=inner))
    return tuple(found)


def value_at(record: Any, path: str) -> Any:
    """Return the value at a path of a decoded record; ABSENT where there is none, also below a null."""
    for name in path.split("."):
        if not isinstance(record, dict) or name not in record:
            return ABSENT
        record = record[name]
    return record


def plain_value(random: Random, field: Field, kind: str) -> Any:
    """Return a value of a kind that keeps what is promised."""
    if kind in {"int", "long"}:
        low, high = field.promised or (-3, 2**40 if kind == "long" else 2**20)
        return random.choice((low, high))
    if kind == "string" and field.promised:
        return random.choice(field.promised)
    return random.choice({"string": ("", "s"), "double": (0.5, -2.25), "boolean": (True, False)}[kind])


class Language(ABC):
    """A language of schemas: its texts, and its records."""

    name: str

    @abstractmethod
    def text(self, model: Model) -> str:
        """Return the text of a schema."""

    @abstractmethod
    def written(self, model: Model, random: Random) -> bytes:
        """Return the bytes of a drawn record."""

    @abstractmethod
    def read(self, data: bytes, writer: Model, reader: Model | None = None) -> Any:
        """Return the record in ``data`` as a dict, read with the schema of ``reader`` or, for None, of ``writer``.

        Raises an error of the library if it cannot be read.
        """

    def symbols(self, field: Field) -> tuple[str, ...]:
        """Return the values that an enum may have."""
        return field.symbols

    def is_same(self, written: Any, read: Any) -> bool:
        """Return whether a value was read as it was written."""
        return bool(written == read)


class Avro(Language):
    """Avro, by fastavro."""

    name = "AVRO"

    def text(self, model: Model) -> str:
        return json.dumps(self._schema("Order", model))

    def _schema(self, name: str, model: Model) -> dict[str, Any]:
        return {"type": "record", "name": name, "fields": [self._field(each) for each in model]}

    def _field(self, field: Field) -> dict[str, Any]:
        kind: Any = field.kind
        default: Any = {"string": "red", "int": 5, "long": 5, "double": 5.0, "boolean": False}.get(field.kind, ABSENT)
        if field.promised and field.kind != "string":
            default = field.promised[0]
        if field.kind == "enum":
            kind = {"type": "enum", "name": f"E_{field.name}", "symbols": list(field.symbols)}
            default = field.symbols[0]
        elif field.kind == "nested":
            kind = self._schema(f"R_{field.name}", field.inner)
        if field.is_optional:
            kind, default = ["null", kind], None
        given = {"default": default} if field.has_default and default is not ABSENT else {}
        return {"name": field.name, "type": kind, **given}

    def written(self, model: Model, random: Random) -> bytes:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, json.loads(self.text(model)), self._record(model, random))
        return stream.getvalue()

    def _record(self, model: Model, random: Random) -> dict[str, Any]:
        return {each.name: self._value(each, random) for each in model}

    def _value(self, field: Field, random: Random) -> Any:
        if field.is_optional and random.random() < 0.4:
            return None
        if field.kind == "enum":
            return random.choice(field.symbols)
        return self._record(field.inner, random) if field.inner else plain_value(random, field, field.kind)

    def read(self, data: bytes, writer: Model, reader: Model | None = None) -> Any:
        with_schema = None if reader is None else json.loads(self.text(reader))
        return fastavro.schemaless_reader(io.BytesIO(data), json.loads(self.text(writer)), with_schema)


class Json(Language):
    """JSON Schema, by json and jsonschema. A field that is optional may be absent; with a default, it may be null."""

    name = "JSON"

    def text(self, model: Model) -> str:
        return json.dumps(self._schema(model))

    def _schema(self, model: Model) -> dict[str, Any]:
        needed = [each.name for each in model if not each.is_optional]
        properties = {each.name: self._property(each) for each in model}
        return {"type": "object", "properties": properties, **({"required": needed} if needed else {})}

    def _property(self, field: Field) -> dict[str, Any]:
        if field.kind == "enum":
            return {"type": "string", "enum": list(field.symbols)}
        if field.kind == "nested":
            return self._schema(field.inner)
        names = {"string": "string", "int": "integer", "long": "integer", "double": "number", "boolean": "boolean"}
        word = names[field.kind]
        return {"type": ["null", word] if self._may_be_null(field) else word}

    def _may_be_null(self, field: Field) -> bool:
        return field.kind in PLAIN and field.has_default

    def written(self, model: Model, random: Random) -> bytes:
        record = self._record(model, random)
        jsonschema.validate(record, self._schema(model))
        return json.dumps(record).encode()

    def _record(self, model: Model, random: Random) -> dict[str, Any]:
        present = (each for each in model if not each.is_optional or random.random() < 0.6)
        return {each.name: self._value(each, random) for each in present}

    def _value(self, field: Field, random: Random) -> Any:
        if self._may_be_null(field) and random.random() < 0.4:
            return None
        if field.kind == "enum":
            return random.choice(field.symbols)
        return self._record(field.inner, random) if field.inner else plain_value(random, field, field.kind)

    def read(self, data: bytes, writer: Model, reader: Model | None = None) -> Any:
        record = json.loads(data)
        jsonschema.validate(record, self._schema(writer if reader is None else reader))
        return record


class Protobuf(Language):
    """Protobuf, by google.protobuf; the descriptors are made from the drawn fields, and not from the text."""

    name = "PROTOBUF"
    _WORDS: Final = {"string": "string", "int": "int32", "long": "int64", "double": "double", "boolean": "bool"}
    _TYPES: Final = {"string": 9, "int": 5, "long": 3, "double": 1, "boolean": 8, "enum": 14, "nested": 11}

    def symbols(self, field: Field) -> tuple[str, ...]:
        return (f"NONE_{field.name}", *field.symbols)

    def is_same(self, written: Any, read: Any) -> bool:
        if written is None or read is None:  # one side knows whether the field is there, and the other its default
            default = read if written is None else written
            return default in {None, 0, ""} or (isinstance(default, str) and default.startswith("NONE_"))
        if isinstance(written, str) != isinstance(read, str):  # an enum's values are numbers
            return bool(self._number(written) == self._number(read))
        return super().is_same(written, read)

    @staticmethod
    def _number(value: Any) -> Any:
        """Return the number of an enum's value, and any other value as it is."""
        if not isinstance(value, str):
            return value
        return SYMBOLS.index(value[0]) + 1 if value[0] in SYMBOLS else 0

    def text(self, model: Model) -> str:
        return f'syntax = "proto3"; message Order {{ {self._body(model)} }}'

    def _body(self, model: Model) -> str:
        parts = []
        for each in model:
            word = self._WORDS.get(each.kind, f"{'E' if each.kind == 'enum' else 'R'}_{each.name}")
            if each.kind == "enum":
                values = " ".join(f"{name} = {number};" for name, number in self._numbers(each))
                parts.append(f"enum E_{each.name} {{ {values} }}")
            elif each.kind == "nested":
                parts.append(f"message R_{each.name} {{ {self._body(each.inner)} }}")
            parts.append(f"{'optional ' if each.is_optional else ''}{word} {each.name} = {each.number};")
        return " ".join(parts)

    def _numbers(self, field: Field) -> list[tuple[str, int]]:
        return [(name, self._number(name)) for name in self.symbols(field)]

    def _class(self, model: Model) -> Any:
        file = descriptor_pb2.FileDescriptorProto(name="order.proto", syntax="proto3")
        self._describe(file.message_type.add(name="Order"), model, ".Order")
        pool = descriptor_pool.DescriptorPool()
        pool.Add(file)
        return message_factory.GetMessageClass(pool.FindMessageTypeByName("Order"))

    def _describe(self, message: Any, model: Model, scope: str) -> None:
        for each in model:
            field = message.field.add(name=each.name, number=each.number, label=1, type=self._TYPES[each.kind])
            if each.kind == "enum":
                field.type_name = f"{scope}.E_{each.name}"
                enum = message.enum_type.add(name=f"E_{each.name}")
                for name, number in self._numbers(each):
                    enum.value.add(name=name, number=number)
            elif each.kind == "nested":
                field.type_name = f"{scope}.R_{each.name}"
                self._describe(message.nested_type.add(name=f"R_{each.name}"), each.inner, field.type_name)
            if each.is_optional:
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{each.name}")

    def written(self, model: Model, random: Random) -> bytes:
        message = self._class(model)()
        self._fill(message, model, random)
        data: bytes = message.SerializeToString()
        return data

    def _fill(self, message: Any, model: Model, random: Random) -> None:
        for each in model:
            if random.random() < 0.3 and (each.is_optional or not each.promised):
                continue  # then it has its default, or is absent; a default may not be what is promised
            if each.kind == "nested":
                getattr(message, each.name).SetInParent()
                self._fill(getattr(message, each.name), each.inner, random)
            elif each.kind == "enum":
                setattr(message, each.name, random.choice([number for _, number in self._numbers(each)]))
            else:
                setattr(message, each.name, plain_value(random, each, each.kind))

    def read(self, data: bytes, writer: Model, reader: Model | None = None) -> Any:
        return self._record(self._class(writer if reader is None else reader).FromString(data))

    def _record(self, message: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for each in message.DESCRIPTOR.fields:
            value = getattr(message, each.name)
            if each.has_presence and not message.HasField(each.name):
                found[each.name] = None
            elif each.message_type is not None:
                found[each.name] = self._record(value)
            elif each.enum_type is not None:
                known = each.enum_type.values_by_number.get(value)
                found[each.name] = value if known is None else known.name
            else:
                found[each.name] = value
        return found


LANGUAGES: Final = (Avro(), Json(), Protobuf())
