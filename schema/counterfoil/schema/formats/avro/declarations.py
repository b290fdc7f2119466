"""The reader of type declarations: from JSON values to nodes of the type tree.

Names are resolved while reading: a name means the type declared before it, in the text or in a reference; a simple
name is looked for in the enclosing namespace, then in the null namespace.

Source: Apache Avro 1.12 specification, "Schema Declaration" and "Names".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro.defaults import describe_default, fits_default
from counterfoil.schema.formats.avro.logical import read_logical_type
from counterfoil.schema.formats.avro.names import PRIMITIVE_NAMES, full_name, is_full_name, is_name, split_name
from counterfoil.schema.formats.avro.types import (
    NO_DEFAULT,
    Array,
    Enum,
    Field,
    Fixed,
    Kind,
    Map,
    Primitive,
    Record,
    Union,
)
from counterfoil.schema.java_numbers import read_java_double

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from counterfoil.schema.formats.avro.types import AvroType, Json, NamedType

TYPE_ATTRIBUTES: Final = frozenset(
    {"type", "name", "namespace", "doc", "aliases", "fields", "items", "values", "symbols", "size"}
)
"""What an object that declares a type may say in Avro's own words; everything else is a property."""

ENUM_ATTRIBUTES: Final = TYPE_ATTRIBUTES | {"default"}
FIELD_ATTRIBUTES: Final = frozenset({"name", "type", "doc", "default", "order", "aliases"})
ORDERS: Final = ("ascending", "descending", "ignore")
_MAX_FIXED_SIZE_BYTES = 2**31 - 1
_NAMED_KINDS: Final = (Kind.RECORD, Kind.ENUM, Kind.FIXED)


class SchemaFault(Exception):  # noqa: N818 - becomes a SchemaParseError as soon as its line is known
    """Something wrong in a schema, by JSON pointer."""

    def __init__(self, problem: str, pointer: str, *, expected: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.pointer = pointer
        self.expected = expected


class TypeReader:
    """Reads one text, or a text after those that it refers to; ``named`` collects the types by full name.

    ``known`` are types that are there before. ``is_strict`` has names and defaults checked.
    """

    def __init__(self, *, is_strict: bool, known: Mapping[str, NamedType] | None = None) -> None:
        self.named: dict[str, NamedType] = dict(known or {})
        self._is_strict = is_strict
        self._read_by_word: dict[str, Callable[[dict[str, Json], str | None, str], AvroType]] = {
            "record": self._read_record,
            "error": self._read_record,
            "enum": self._read_enum,
            "fixed": self._read_fixed,
            "array": self._read_array,
            "map": self._read_map,
        }

    def read_document(self, document: Json) -> AvroType:
        """The type that a whole text declares."""
        return self._read(document, None, "")

    def begin_text(self) -> None:
        """End the references: their nodes do not stand in the text that comes next, so they lose their pointers."""
        for node in self.named.values():
            node.pointer = ""

    def _read(self, value: Json, namespace: str | None, pointer: str) -> AvroType:
        if isinstance(value, str):
            return self._read_name(value, namespace, pointer)
        if isinstance(value, dict):
            return self._read_object(value, namespace, pointer)
        if isinstance(value, list):
            return self._read_union(value, namespace, pointer)
        raise SchemaFault(f"{_shown(value)} is no type", pointer, expected="a name, an object or an array")

    def _read_name(self, written: str, namespace: str | None, pointer: str) -> AvroType:
        if written in PRIMITIVE_NAMES:
            return Primitive(kind=Kind(written), pointer=pointer)
        found = self._find(written, namespace)
        if found is None:
            raise SchemaFault(
                f"unknown type {written!r}", pointer, expected="a primitive type, or a type declared before this place"
            )
        return found

    def _find(self, written: str, namespace: str | None) -> NamedType | None:
        return self.named.get(full_name(written, namespace)) or self.named.get(written.rpartition(".")[2])

    def _read_object(self, value: dict[str, Json], namespace: str | None, pointer: str) -> AvroType:
        word = value.get("type")
        if not isinstance(word, str):
            problem = f"{_shown(word)} is no type name" if "type" in value else "an object without 'type'"
            place = f"{pointer}/type" if "type" in value else pointer
            raise SchemaFault(problem, place, expected="the name of a type in 'type'")
        if word in PRIMITIVE_NAMES:
            return self._read_primitive(value, Kind(word), pointer)
        read = self._read_by_word.get(word)
        if read is None:
            return self._read_name(word, namespace, f"{pointer}/type")
        return read(value, namespace, pointer)

    def _read_primitive(self, value: dict[str, Json], kind: Kind, pointer: str) -> Primitive:
        if len(value) == 1:
            return Primitive(kind=kind, pointer=pointer)
        properties = _properties(value, TYPE_ATTRIBUTES)
        return Primitive(
            kind=kind, properties=properties, logical_type=read_logical_type(properties, kind), pointer=pointer
        )

    def _read_union(self, value: list[Json], namespace: str | None, pointer: str) -> Union:
        branches: list[AvroType] = []
        seen: set[str] = set()
        for index, item in enumerate(value):
            place = f"{pointer}/{index}"
            branch = self._read(item, namespace, place)
            if branch.kind is Kind.UNION:
                raise SchemaFault("a union directly inside a union", place, expected="the branches in one union")
            name = branch_name(branch)
            if name in seen:
                raise SchemaFault(f"the union holds {name!r} twice", place, expected="each branch once")
            seen.add(name)
            branches.append(branch)
        return Union(branches=tuple(branches), pointer=pointer)

    def _read_array(self, value: dict[str, Json], namespace: str | None, pointer: str) -> Array:
        items = self._read(_required(value, "items", pointer), namespace, f"{pointer}/items")
        return Array(items=items, properties=_properties(value, TYPE_ATTRIBUTES), pointer=pointer)

    def _read_map(self, value: dict[str, Json], namespace: str | None, pointer: str) -> Map:
        values = self._read(_required(value, "values", pointer), namespace, f"{pointer}/values")
        return Map(values=values, properties=_properties(value, TYPE_ATTRIBUTES), pointer=pointer)

    def _read_record(self, value: dict[str, Json], namespace: str | None, pointer: str) -> Record:
        name, space = self._read_own_name(value, namespace, pointer)
        record = Record(
            name=name,
            namespace=space,
            doc=_text_or_none(value.get("doc")),
            aliases=self._read_type_aliases(value, space, pointer),
            is_error=value["type"] == "error",
            properties=_properties(value, TYPE_ATTRIBUTES),
            pointer=pointer,
        )
        self._declare(record, pointer)
        fields = _required(value, "fields", pointer)
        if not isinstance(fields, list):
            raise SchemaFault(f"{_shown(fields)} are no fields", f"{pointer}/fields", expected="an array of fields")
        record.fields = self._read_fields(fields, space, f"{pointer}/fields")
        return record

    def _read_fields(self, values: list[Json], namespace: str | None, pointer: str) -> tuple[Field, ...]:
        fields: dict[str, Field] = {}
        for index, value in enumerate(values):
            field = self._read_field(value, namespace, f"{pointer}/{index}")
            if field.name in fields:
                raise SchemaFault(
                    f"two fields are called {field.name!r}", f"{pointer}/{index}", expected="a name of its own"
                )
            fields[field.name] = field
        return tuple(fields.values())

    def _read_field(self, value: Json, namespace: str | None, pointer: str) -> Field:
        if not isinstance(value, dict):
            raise SchemaFault(f"{_shown(value)} is no field", pointer, expected="an object with name and type")
        name = _required_text(value, "name", pointer)
        self._check_name(name, f"{pointer}/name")
        field_type = self._read(_required(value, "type", pointer), namespace, f"{pointer}/type")
        return Field(
            name=name,
            type=field_type,
            default=self._read_default(value, field_type, pointer),
            doc=_text_or_none(value.get("doc")),
            order=_read_order(value, pointer),
            aliases=tuple(_read_texts(value, "aliases", pointer)) if "aliases" in value else (),
            properties=_properties(value, FIELD_ATTRIBUTES),
            pointer=pointer,
        )

    def _read_default(self, value: dict[str, Json], field_type: AvroType, pointer: str) -> Json:
        default = value.get("default", NO_DEFAULT)
        if default is NO_DEFAULT:
            return NO_DEFAULT
        place = f"{pointer}/default"
        if isinstance(default, str) and field_type.kind in (Kind.FLOAT, Kind.DOUBLE):
            number = read_java_double(default)
            if number is None:
                raise SchemaFault(f"{_shown(default)} is no number", place, expected="a number")
            return number
        if self._is_strict and not fits_default(field_type, default):
            raise SchemaFault(
                f"{_shown(default)} is no default of {branch_name(field_type)!r}",
                place,
                expected=describe_default(field_type),
            )
        return default

    def _read_enum(self, value: dict[str, Json], namespace: str | None, pointer: str) -> Enum:
        name, space = self._read_own_name(value, namespace, pointer)
        _required(value, "symbols", pointer)
        symbols = _read_texts(value, "symbols", pointer)
        enum = Enum(
            name=name,
            namespace=space,
            doc=_text_or_none(value.get("doc")),
            aliases=self._read_type_aliases(value, space, pointer),
            symbols=self._checked_symbols(symbols, f"{pointer}/symbols"),
            default=_read_enum_default(value, symbols, pointer),
            properties=_properties(value, ENUM_ATTRIBUTES),
            pointer=pointer,
        )
        self._declare(enum, pointer)
        return enum

    def _checked_symbols(self, symbols: list[str], pointer: str) -> tuple[str, ...]:
        seen: set[str] = set()
        for index, symbol in enumerate(symbols):
            self._check_name(symbol, f"{pointer}/{index}")
            if symbol in seen:
                raise SchemaFault(f"the symbol {symbol!r} comes twice", f"{pointer}/{index}", expected="each once")
            seen.add(symbol)
        return tuple(symbols)

    def _read_fixed(self, value: dict[str, Json], namespace: str | None, pointer: str) -> Fixed:
        name, space = self._read_own_name(value, namespace, pointer)
        size = _required(value, "size", pointer)
        if type(size) is not int or not 0 <= size <= _MAX_FIXED_SIZE_BYTES:
            raise SchemaFault(f"{_shown(size)} is no size", f"{pointer}/size", expected="a whole number of bytes")
        properties = _properties(value, TYPE_ATTRIBUTES)
        fixed = Fixed(
            name=name,
            namespace=space,
            doc=_text_or_none(value.get("doc")),
            aliases=self._read_type_aliases(value, space, pointer),
            size=size,
            properties=properties,
            logical_type=read_logical_type(properties, Kind.FIXED, size_bytes=size),
            pointer=pointer,
        )
        self._declare(fixed, pointer)
        return fixed

    def _read_own_name(self, value: dict[str, Json], namespace: str | None, pointer: str) -> tuple[str, str | None]:
        written = _required_text(value, "name", pointer)
        space = _text_or_none(value.get("namespace"))
        name, space = split_name(written, namespace if space is None else space)
        full = f"{space}.{name}" if space else name
        if full in PRIMITIVE_NAMES:
            raise SchemaFault(f"{full!r} is the name of a primitive type", f"{pointer}/name", expected="another name")
        if self._is_strict and not is_full_name(full):
            raise SchemaFault(
                f"{full!r} is not a valid name", f"{pointer}/name", expected="letters, digits and _, no digit first"
            )
        return name, space

    def _check_name(self, name: str, pointer: str) -> None:
        if self._is_strict and not is_name(name):
            raise SchemaFault(
                f"{name!r} is not a valid name", pointer, expected="letters, digits and _, no digit first"
            )

    def _read_type_aliases(self, value: dict[str, Json], namespace: str | None, pointer: str) -> tuple[str, ...]:
        if "aliases" not in value:
            return ()
        aliases = [full_name(alias, namespace) for alias in _read_texts(value, "aliases", pointer)]
        for index, alias in enumerate(aliases):
            if self._is_strict and not is_full_name(alias):
                raise SchemaFault(f"{alias!r} is not a valid name", f"{pointer}/aliases/{index}", expected="a name")
        return tuple(dict.fromkeys(aliases))

    def _declare(self, node: NamedType, pointer: str) -> None:
        if node.full_name in self.named:
            raise SchemaFault(f"{node.full_name!r} is declared twice", f"{pointer}/name", expected="one declaration")
        self.named[node.full_name] = node


def branch_name(node: AvroType) -> str:
    """What a type is called among the branches of a union: full name, or the kind of an unnamed type."""
    return node.full_name if isinstance(node, (Record, Enum, Fixed)) else node.kind.value


def _read_order(value: dict[str, Json], pointer: str) -> str | None:
    if "order" not in value:
        return None
    order = value["order"]
    if not isinstance(order, str) or order.lower() not in ORDERS:
        raise SchemaFault(f"{_shown(order)} is no order", f"{pointer}/order", expected=" or ".join(ORDERS))
    return order.lower()


def _read_enum_default(value: dict[str, Json], symbols: list[str], pointer: str) -> str | None:
    default = _text_or_none(value.get("default"))
    if default is not None and default not in symbols:
        raise SchemaFault(f"the default {default!r} is no symbol", f"{pointer}/default", expected="one of the symbols")
    return default


def _read_texts(value: dict[str, Json], key: str, pointer: str) -> list[str]:
    texts = value[key]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SchemaFault(f"{_shown(texts)} in {key!r}", f"{pointer}/{key}", expected="an array of strings")
    return texts


def _properties(value: dict[str, Json], attributes: Iterable[str]) -> dict[str, Json]:
    return {key: item for key, item in value.items() if key not in attributes}


def _required(value: dict[str, Json], key: str, pointer: str) -> Json:
    if key not in value:
        raise SchemaFault(f"no {key!r} in {_declared(value)}", pointer, expected=f"an attribute {key!r}")
    return value[key]


def _required_text(value: dict[str, Json], key: str, pointer: str) -> str:
    text = _required(value, key, pointer)
    if not isinstance(text, str):
        raise SchemaFault(f"{_shown(text)} is no {key}", f"{pointer}/{key}", expected="a string")
    return text


def _declared(value: dict[str, Json]) -> str:
    """The type word of a declaration, for messages; a field has none."""
    word = value.get("type")
    return word if isinstance(word, str) and word in {"record", "enum", "fixed", "array", "map"} else "the object"


def _text_or_none(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _shown(value: Json) -> str:
    """A value as it may stand in a message: short, and in JSON's words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


_SHOWN_CHARACTERS = 60
