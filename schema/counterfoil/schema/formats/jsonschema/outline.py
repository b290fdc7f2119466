"""The outline of a JSON schema: its ``$id``, those of its parts, and the documents that it refers to.

Source: the core specifications of draft-04 to 2020-12 (``id``, ``$id``, ``$ref``); RFC 3986 for relative references.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urldefrag, urljoin

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.jsontext.document import read_json
from counterfoil.schema.outline import Outline, Use

if TYPE_CHECKING:
    from counterfoil.schema.pointer import Pointer

_DATA: Final = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose values are data and not schemas."""
_BY_NAME: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords whose values are schemas by name; the names are not keywords."""
_REFERRING: Final = ("$ref", "$dynamicRef", "$recursiveRef")


def outline(text: str) -> Outline | None:
    """Return the identifiers that a JSON schema has and refers to; None if it is not JSON or nested too deeply."""
    try:
        document = read_json(text)
        walk = _Walk(_id_keyword(document))
        walk.visit(document, "", ())
    except (SchemaParseError, RecursionError):
        return None
    own = {"", *walk.declared}
    used = tuple(Use(names, pointer) for names, pointer in walk.used.items() if names[0] not in own)
    return Outline(name=_name(document, walk.id_keyword), declared=frozenset(walk.declared), used=used)


@dataclass(slots=True)
class _Walk:
    """The walk over a document.

    ``used`` has, for each URI and text of a reference, the JSON Pointer of the first place.
    """

    id_keyword: str
    declared: set[str] = field(default_factory=set)
    used: dict[tuple[str, ...], Pointer] = field(default_factory=dict)

    def visit(self, node: Any, base: str, pointer: Pointer) -> None:
        """Collect the identifiers at and below ``node``, whose references are relative to the URI ``base``."""
        if isinstance(node, list):
            for index, inner in enumerate(node):
                self.visit(inner, base, (*pointer, index))
        elif isinstance(node, dict):
            base = self._enter(node, base)
            for keyword in _REFERRING:
                self._use(node.get(keyword), base, (*pointer, keyword))
            for key, inner in node.items():
                below = (*pointer, key)
                if key in _BY_NAME and isinstance(inner, dict):
                    for name, schema in inner.items():
                        self.visit(schema, base, (*below, name))
                elif key not in _DATA:
                    self.visit(inner, base, below)

    def _enter(self, node: dict[str, Any], base: str) -> str:
        identity = node.get(self.id_keyword)
        if not isinstance(identity, str) or identity.startswith("#"):
            return base
        uri, _ = _join(base, identity)
        self.declared.add(uri)
        return uri

    def _use(self, reference: Any, base: str, pointer: Pointer) -> None:
        if isinstance(reference, str) and not reference.startswith("#"):
            uri, text = _join(base, reference)
            self.used.setdefault((uri, text), pointer)


def _join(base: str, reference: str) -> tuple[str, str]:
    """Return the absolute URI of ``reference``, and its own text; both without fragment."""
    text = reference.partition("#")[0]
    try:
        return urldefrag(urljoin(base, reference) if base else reference)[0], text
    except ValueError:  # such as an IPv6 address without its bracket
        return text, text


def _id_keyword(document: Any) -> str:
    dialect = document.get("$schema") if isinstance(document, dict) else None
    return "id" if isinstance(dialect, str) and "draft-04" in dialect else "$id"


def _name(document: Any, id_keyword: str) -> str | None:
    """Return the schema's identifier, or else its title."""
    names = (document.get(keyword) for keyword in (id_keyword, "title")) if isinstance(document, dict) else ()
    return next((name for name in names if isinstance(name, str) and name), None)
