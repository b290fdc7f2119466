"""The reader of type declarations: from JSON values to nodes of the type tree, with names used too early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.jsontext.java import read_java_double
from counterfoil.schema.languages.avro.attributes import (
    ENUM_ATTRIBUTES,
    FIELD_ATTRIBUTES,
    TYPE_ATTRIBUTES,
    SchemaFault,
    describe_default,
    fits_default,
    read_enum_default,
    read_logical_type,
    read_order,
    read_properties,
    read_required,
    read_required_text,
    read_size,
    read_text,
    read_texts,
    show,
    unfit_part,
)
from counterfoil.schema.languages.avro.types import (
    NO_DEFAULT,
    PRIMITIVE_KINDS,
    PRIMITIVE_NAMES,
    WORD_BY_KIND,
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroUnion,
    Leaves,
    branch_name,
    full_name,
    is_full_name,
    is_name,
    split_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.datum import Json
    from counterfoil.schema.languages.avro.types import AvroType, NamedType
    from counterfoil.schema.texts import Pointer


# Names that are used before the type is declared.
#
# The specification requires the declaration before the use, in the order of the text. The reference accepts either
# order, and prints the declaration where the name is used first.
#
# Source: Apache Avro 1.12 for Java, whose parser resolves names at the end.

_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})


class Declaration(NamedTuple):
    """The declaration of a named type: the JSON object, the namespace around it, and its JSON Pointer."""

    value: dict[str, Any]
    namespace: str | None
    pointer: Pointer


def find_declarations(document: Json) -> dict[str, Declaration]:
    """Return the declarations of all named types in ``document``, by full name; of several of one name the first."""
    found: dict[str, Declaration] = {}
    waiting: list[tuple[Json, str | None, Pointer]] = [(document, None, ())]
    while waiting:
        value, namespace, pointer = waiting.pop()
        if isinstance(value, list):
            waiting += [(item, namespace, (*pointer, index)) for index, item in reversed([*enumerate(value)])]
        elif isinstance(value, dict):
            inner = namespace
            kind = value.get("type")
            if isinstance(kind, str) and kind in _NAMED and isinstance(value.get("name"), str):
                inner = _declared(Declaration(value, namespace, pointer), found)
            waiting += reversed([(part, inner, pointer + steps) for steps, part in _parts(value)])
    return found


def _declared(declaration: Declaration, found: dict[str, Declaration]) -> str | None:
    """Add a declaration to ``found``, and return the namespace inside it."""
    own = declaration.value.get("namespace")
    name, space = split_name(declaration.value["name"], own if isinstance(own, str) else declaration.namespace)
    found.setdefault(f"{space}.{name}" if space else name, declaration)
    return space


def _parts(value: dict[str, Any]) -> Iterator[tuple[Pointer, Json]]:
    """Yield the types inside a declaration, each with the steps to it."""
    fields = value.get("fields")
    for index, field in enumerate(fields if isinstance(fields, list) else ()):
        if isinstance(field, dict):
            yield ("fields", index, "type"), field.get("type")
    for key in ("items", "values"):
        yield (key,), value.get(key)


# The reader of type declarations: from JSON values to nodes of the type tree.
#
# Names are resolved while reading: a name refers to the type declared before it, in the text or in a reference; it is
# searched for in the enclosing namespace, then in the null namespace.
#
# Source: Apache Avro 1.12 specification, "Schema Declaration" and "Names".

_PRIMITIVE_KIND_BY_WORD = {WORD_BY_KIND[kind]: kind for kind in PRIMITIVE_KINDS}
_NAME_AND_TYPE = 2
_NAME_TYPE_AND_DEFAULT = 3
_TYPE_AND_ITEMS = 2
_TYPE_NAME_AND_SYMBOLS = 3
_A_NAME = "letters, digits and _, no digit first"


class TypeReader:
    """A reader of one text, or of a text and its references; ``named`` collects the types by full name.

    ``known`` are types that are declared already. ``checks_names`` and ``checks_defaults`` switch on the checks of
    names and of defaults.
    """

    def __init__(
        self, *, checks_names: bool, checks_defaults: bool, known: Mapping[str, NamedType] | None = None
    ) -> None:
        self.named: dict[str, NamedType] = dict(known or {})
        self._checks_names = checks_names
        self._checks_defaults = checks_defaults
        self._document: Json = None
        self._later: dict[str, Declaration] | None = None
        self._early: dict[int, AvroType] = {}
        self._unread: set[str] = set()
        self._leaves = Leaves(most=0)
        self._namespaces: set[str] = set()  # valid namespaces
        self._read_by_word: dict[str, Callable[[dict[str, Json], str | None, Pointer], AvroType]] = {
            "record": self._read_record,
            "error": self._read_record,
            "enum": self._read_enum,
            "fixed": self._read_fixed,
            "array": self._read_array,
            "map": self._read_map,
        }

    def read_document(self, document: Json, *, leaves: Leaves | None = None) -> AvroType:
        """Return the type that a whole text declares; ``leaves`` are nodes that other schemas may share."""
        self._leaves = leaves or Leaves(most=0)
        self._document, self._later, self._early = document, None, {}
        return self._read(document, None, ())

    def _read(self, value: Json, namespace: str | None, pointer: Pointer) -> AvroType:
        if isinstance(value, str):
            kind = _PRIMITIVE_KIND_BY_WORD.get(value)
            return self._read_name(value, namespace, pointer) if kind is None else self._leaves.primitive(kind, pointer)
        if isinstance(value, dict):
            return self._read_object(value, namespace, pointer)
        if isinstance(value, list):
            return self._read_union(value, namespace, pointer)
        raise SchemaFault(f"{show(value)} is no type", pointer, expected="a name, an object or an array")

    def _read_name(self, written: str, namespace: str | None, pointer: Pointer) -> AvroType:
        kind = _PRIMITIVE_KIND_BY_WORD.get(written)
        if kind is not None:
            return self._leaves.primitive(kind, pointer)
        found = self._find(written, namespace) or self._read_early(written, namespace)
        if found is None:
            raise SchemaFault(
                f"unknown type {show(written)}",
                pointer,
                expected="a primitive type, or a type that this text or one of its references declares",
            )
        return found

    def _read_early(self, written: str, namespace: str | None) -> AvroType | None:
        """Return the type of a name that is declared later in the text; its declaration is read now."""
        if self._later is None:
            self._later = find_declarations(self._document)
        for name in (full_name(written, namespace), written):
            declaration = self._later.get(name)
            if declaration is not None and name not in self.named:
                found = self._early[id(declaration.value)] = self._read_object(*declaration)
                return found
        return None

    def _find(self, written: str, namespace: str | None) -> NamedType | None:
        return self.named.get(full_name(written, namespace)) or self.named.get(written)

    def _read_object(self, value: dict[str, Json], namespace: str | None, pointer: Pointer) -> AvroType:
        word = value.get("type")
        if not isinstance(word, str):
            problem = f"{show(word)} is no type name" if "type" in value else "an object without 'type'"
            place = (*pointer, "type") if "type" in value else pointer
            raise SchemaFault(problem, place, expected="the name of a type in 'type'")
        read = self._read_by_word.get(word)
        if read is not None:
            early = self._early.get(id(value)) if self._early else None
            return read(value, namespace, pointer) if early is None else early
        if word in PRIMITIVE_NAMES:
            return self._read_primitive(value, AvroKind(word), pointer)
        return self._read_name(word, namespace, (*pointer, "type"))

    def _read_primitive(self, value: dict[str, Json], kind: AvroKind, pointer: Pointer) -> AvroPrimitive:
        if len(value) == 1:
            return AvroPrimitive(kind=kind, pointer=pointer)
        properties = read_properties(value, TYPE_ATTRIBUTES)
        return AvroPrimitive(
            kind=kind, properties=properties, logical_type=read_logical_type(properties, kind), pointer=pointer
        )

    def _read_union(self, value: list[Json], namespace: str | None, pointer: Pointer) -> AvroUnion:
        words = tuple(value) if set(map(type, value)) == {str} else ()
        shared = self._leaves.union(words, pointer)
        if shared is not None:
            return shared
        branches: list[AvroType] = []
        seen: set[str] = set()
        for index, item in enumerate(value):
            branch = self._read(item, namespace, (*pointer, index))
            name = item if type(branch) is AvroPrimitive and type(item) is str else branch_name(branch)
            if type(branch) is AvroUnion:
                raise SchemaFault(
                    "a union directly inside a union", (*pointer, index), expected="the branches in one union"
                )
            if name in seen:
                raise SchemaFault(f"the union holds {show(name)} twice", (*pointer, index), expected="each branch once")
            seen.add(name)
            branches.append(branch)
        union = AvroUnion(branches=tuple(branches), pointer=pointer)
        if words and _PRIMITIVE_KIND_BY_WORD.keys() >= seen:
            self._leaves.keep_union(words, union)
        return union

    def _read_array(self, value: dict[str, Json], namespace: str | None, pointer: Pointer) -> AvroArray:
        written = read_required(value, "items", pointer)
        kind = _PRIMITIVE_KIND_BY_WORD.get(written) if type(written) is str else None
        if kind is not None and len(value) == _TYPE_AND_ITEMS:
            return self._leaves.array(kind, pointer)
        items = self._read(written, namespace, (*pointer, "items"))
        return AvroArray(items=items, properties=read_properties(value, TYPE_ATTRIBUTES), pointer=pointer)

    def _read_map(self, value: dict[str, Json], namespace: str | None, pointer: Pointer) -> AvroMap:
        values = self._read(read_required(value, "values", pointer), namespace, (*pointer, "values"))
        return AvroMap(values=values, properties=read_properties(value, TYPE_ATTRIBUTES), pointer=pointer)

    def _read_record(self, value: dict[str, Json], namespace: str | None, pointer: Pointer) -> AvroRecord:
        name, space = self._read_own_name(value, namespace, pointer)
        record = AvroRecord(
            name=name,
            namespace=space,
            doc=read_text(value, "doc"),
            aliases=self._read_type_aliases(value, space, pointer),
            is_error=value["type"] == "error",
            properties=read_properties(value, TYPE_ATTRIBUTES),
            pointer=pointer,
        )
        self._declare(record, pointer)
        fields = read_required(value, "fields", pointer)
        if not isinstance(fields, list):
            raise SchemaFault(f"{show(fields)} are no fields", (*pointer, "fields"), expected="an array of fields")
        self._unread.add(record.full_name)
        record.fields = self._read_fields(fields, space, (*pointer, "fields"))
        self._unread.discard(record.full_name)
        return record

    def _read_fields(self, values: list[Json], namespace: str | None, pointer: Pointer) -> tuple[AvroField, ...]:
        fields: dict[str, AvroField] = {}
        for index, value in enumerate(values):
            place = (*pointer, index)
            field = self._leaves.known_field(value, place)
            if field is None:
                field = self._read_field(value, namespace, place)
                if self._checks_names and self._checks_defaults:
                    self._leaves.keep_field(value, field)
            if field.name in fields:
                raise SchemaFault(
                    f"two fields are called {show(field.name)}", (*pointer, index), expected="a name of its own"
                )
            fields[field.name] = field
        return tuple(fields.values())

    def _read_field(self, value: Json, namespace: str | None, pointer: Pointer) -> AvroField:
        if not isinstance(value, dict):
            raise SchemaFault(f"{show(value)} is no field", pointer, expected="an object with name and type")
        name = value.get("name")
        if type(name) is not str:
            name = read_required_text(value, "name", pointer)  # raises with a description
        if self._checks_names and not is_name(name):
            raise _no_name(name, (*pointer, "name"))
        written = value.get("type")
        kind = _PRIMITIVE_KIND_BY_WORD.get(written) if type(written) is str else None
        field_type: AvroType
        if kind is not None:
            field_type = self._leaves.primitive(kind, (*pointer, "type"))
        else:
            field_type = self._read(read_required(value, "type", pointer), namespace, (*pointer, "type"))
        if len(value) == _NAME_AND_TYPE:
            return self._leaves.field(name, field_type, pointer)
        default = self._read_default(value, field_type, pointer) if "default" in value else NO_DEFAULT
        if default is None and len(value) == _NAME_TYPE_AND_DEFAULT:
            return self._leaves.field(name, field_type, pointer, default=None)
        return AvroField(
            name=name,
            type=field_type,
            default=default,
            doc=read_text(value, "doc"),
            order=read_order(value, pointer),
            aliases=tuple(read_texts(value, "aliases", pointer)),
            properties=read_properties(value, FIELD_ATTRIBUTES),
            pointer=pointer,
        )

    def _read_default(self, value: dict[str, Json], field_type: AvroType, pointer: Pointer) -> Json:
        default = value["default"]
        place = (*pointer, "default")
        if isinstance(default, str) and field_type.kind in (AvroKind.FLOAT, AvroKind.DOUBLE):
            number = read_java_double(default)
            if number is None:
                raise SchemaFault(f"{show(default)} is no number", place, expected="a number")
            return number
        if self._checks_defaults and not fits_default(field_type, default, unread=self._unread):
            steps, unfit, part = unfit_part(field_type, default, unread=self._unread)
            raise SchemaFault(
                f"{show(part)} is no default of {show(branch_name(unfit))}",
                (*place, *steps),
                expected=describe_default(unfit),
            )
        return default

    def _read_enum(self, value: dict[str, Json], namespace: str | None, pointer: Pointer) -> AvroEnum:
        name, space = self._read_own_name(value, namespace, pointer)
        read_required(value, "symbols", pointer)
        symbols = self._checked_symbols(read_texts(value, "symbols", pointer), (*pointer, "symbols"))
        if len(value) == _TYPE_NAME_AND_SYMBOLS:
            enum = AvroEnum(name, space, symbols=symbols, pointer=pointer)  # a shortcut for speed
        else:
            enum = AvroEnum(
                name=name,
                namespace=space,
                doc=read_text(value, "doc"),
                aliases=self._read_type_aliases(value, space, pointer),
                symbols=symbols,
                default=read_enum_default(value, symbols, pointer),
                properties=read_properties(value, ENUM_ATTRIBUTES),
                pointer=pointer,
            )
        self._declare(enum, pointer)
        return enum

    def _checked_symbols(self, symbols: list[str], pointer: Pointer) -> tuple[str, ...]:
        if len(set(symbols)) == len(symbols) and (not self._checks_names or all(map(is_name, symbols))):
            return tuple(symbols)
        seen: set[str] = set()
        for index, symbol in enumerate(symbols):
            if self._checks_names and not is_name(symbol):
                raise _no_name(symbol, (*pointer, index))
            if symbol in seen:
                raise SchemaFault(f"the symbol {show(symbol)} comes twice", (*pointer, index), expected="each once")
            seen.add(symbol)
        return tuple(symbols)

    def _read_fixed(self, value: dict[str, Json], namespace: str | None, pointer: Pointer) -> AvroFixed:
        name, space = self._read_own_name(value, namespace, pointer)
        size = read_size(value, pointer)
        properties = read_properties(value, TYPE_ATTRIBUTES)
        fixed = AvroFixed(
            name=name,
            namespace=space,
            doc=read_text(value, "doc"),
            aliases=self._read_type_aliases(value, space, pointer),
            size=size,
            properties=properties,
            logical_type=read_logical_type(properties, AvroKind.FIXED, size_bytes=size),
            pointer=pointer,
        )
        self._declare(fixed, pointer)
        return fixed

    def _read_own_name(self, value: dict[str, Json], namespace: str | None, pointer: Pointer) -> tuple[str, str | None]:
        written = value.get("name")
        if type(written) is not str:
            written = read_required_text(value, "name", pointer)  # raises with a description
        space = read_text(value, "namespace")
        name, space = split_name(written, namespace if space is None else space)
        full = f"{space}.{name}" if space else name
        if full in PRIMITIVE_NAMES:
            raise SchemaFault(
                f"{show(full)} is the name of a primitive type", (*pointer, "name"), expected="another name"
            )
        if self._checks_names and not (is_name(name) and self._is_namespace(space)):
            raise _no_name(full, (*pointer, "name"))
        return name, space

    def _is_namespace(self, space: str | None) -> bool:
        if space is None or space in self._namespaces:
            return True
        if is_full_name(space):
            self._namespaces.add(space)
            return True
        return False

    def _read_type_aliases(self, value: dict[str, Json], namespace: str | None, pointer: Pointer) -> tuple[str, ...]:
        if "aliases" not in value:
            return ()
        aliases = [full_name(alias, namespace) for alias in read_texts(value, "aliases", pointer)]
        for index, alias in enumerate(aliases):
            if self._checks_names and not is_full_name(alias):
                raise _no_name(alias, (*pointer, "aliases", index))
        return tuple(dict.fromkeys(aliases))

    def _declare(self, node: NamedType, pointer: Pointer) -> None:
        full = node.full_name
        if full in self.named:
            raise SchemaFault(f"{show(full)} is declared twice", (*pointer, "name"), expected="one declaration")
        self.named[full] = node


def _no_name(written: str, pointer: Pointer) -> SchemaFault:
    return SchemaFault(f"{show(written)} is not a valid name", pointer, expected=_A_NAME)
