"""The attributes of a declaration, and how each is read from its JSON object.

Source: Apache Avro 1.12 specification, "Schema Declaration"; what is tolerated (a doc that is not a string counts as
none) is what the reference registry tolerates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.jsontext.document import locate
from counterfoil.schema.pointer import print_pointer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from counterfoil.schema.formats.avro.types import Json
    from counterfoil.schema.pointer import Pointer

TYPE_ATTRIBUTES: Final = frozenset(
    {"type", "name", "namespace", "doc", "aliases", "fields", "items", "values", "symbols", "size"}
)
"""The attributes of Avro in an object that declares a type; every other key is a property."""

ENUM_ATTRIBUTES: Final = TYPE_ATTRIBUTES | {"default"}
FIELD_ATTRIBUTES: Final = frozenset({"name", "type", "doc", "default", "order", "aliases"})

_ORDERS: Final = ("ascending", "descending", "ignore")
_MAX_FIXED_SIZE_BYTES: Final = 2**31 - 1
_COMPLEX_WORDS: Final = frozenset({"record", "error", "enum", "fixed", "array", "map"})
_SHOWN_CHARACTERS: Final = 60
_ONLY_TEXT: Final = frozenset({str})


class SchemaFault(Exception):
    """A fault in a schema, with its JSON Pointer; it becomes a ``SchemaParseError`` when its line is known."""

    def __init__(self, problem: str, pointer: Pointer, *, expected: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.pointer = pointer
        self.expected = expected

    def located(self, text: str) -> SchemaParseError:
        """Return the error to raise, with the position of the fault in ``text``."""
        place, path = locate(text, self.pointer), print_pointer(self.pointer)
        return SchemaParseError(self.problem, position=place, path=path, expected=self.expected)


def read_required(value: dict[str, Json], key: str, pointer: Pointer) -> Json:
    """Return a required attribute; ``pointer`` is that of the declaration."""
    if key not in value:
        raise SchemaFault(f"no {key!r} in {_declared(value)}", pointer, expected=f"an attribute {key!r}")
    return value[key]


def read_required_text(value: dict[str, Json], key: str, pointer: Pointer) -> str:
    """Return a required attribute that must be a string."""
    text = read_required(value, key, pointer)
    if not isinstance(text, str):
        raise SchemaFault(f"{show(text)} is no {key}", (*pointer, key), expected="a string")
    return text


def read_text(value: dict[str, Json], key: str) -> str | None:
    """Return an attribute that may be a string; anything else counts as absent."""
    text = value.get(key)
    return text if isinstance(text, str) else None


def read_texts(value: dict[str, Json], key: str, pointer: Pointer) -> list[str]:
    """Return an attribute that must be an array of strings if it is present; empty if it is absent."""
    texts = value.get(key, [])
    if not isinstance(texts, list) or not _ONLY_TEXT.issuperset(map(type, texts)):
        raise SchemaFault(f"{show(texts)} in {key!r}", (*pointer, key), expected="an array of strings")
    return texts


def read_properties(value: dict[str, Json], attributes: AbstractSet[str]) -> dict[str, Json]:
    """Return the properties, which are the keys not among ``attributes``, in the order written."""
    if value.keys() <= attributes:
        return {}  # a shortcut for speed
    return {key: item for key, item in value.items() if key not in attributes}


def read_order(value: dict[str, Json], pointer: Pointer) -> str | None:
    """Return a field's sort order in lower case, or None if it has none."""
    if "order" not in value:
        return None
    order = value["order"]
    if not isinstance(order, str) or order.lower() not in _ORDERS:
        raise SchemaFault(f"{show(order)} is no order", (*pointer, "order"), expected=" or ".join(_ORDERS))
    return order.lower()


def read_size(value: dict[str, Json], pointer: Pointer) -> int:
    """Return the size of a fixed in bytes."""
    size = read_required(value, "size", pointer)
    if type(size) is not int or not 0 <= size <= _MAX_FIXED_SIZE_BYTES:
        raise SchemaFault(f"{show(size)} is no size", (*pointer, "size"), expected="a whole number of bytes")
    return size


def read_enum_default(value: dict[str, Json], symbols: Sequence[str], pointer: Pointer) -> str | None:
    """Return the symbol that replaces unknown ones, or None."""
    default = read_text(value, "default")
    if default is not None and default not in symbols:
        raise SchemaFault(
            f"the default {show(default)} is no symbol", (*pointer, "default"), expected="one of the symbols"
        )
    return default


def show(value: Json) -> str:
    """Return a value as text for a message: short, with JSON's words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str) and len(value) > _SHOWN_CHARACTERS:
        return f"{value[:_SHOWN_CHARACTERS]!r}…"
    return repr(value)


def _declared(value: dict[str, Json]) -> str:
    """Return the type word of a declaration for messages, or "the object" for a field."""
    word = value.get("type")
    return f"the {word}" if isinstance(word, str) and word in _COMPLEX_WORDS else "the object"
