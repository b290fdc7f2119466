"""The texts of schemas and values in descriptions of changes, and in the names of branches in field paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.formats.jsonschema.read.canonical import print_exact
from counterfoil.schema.formats.jsonschema.read.drafts import Draft

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_DEPTH: Final = 4
_DRAFT_WORDS: Final = {
    Draft.DRAFT_4: "draft-04",
    Draft.DRAFT_6: "draft-06",
    Draft.DRAFT_7: "draft-07",
    Draft.DRAFT_2019_09: "2019-09",
    Draft.DRAFT_2020_12: "2020-12",
}


class Readable(Protocol):
    """A schema at its place, as far as its text needs it."""

    @property
    def value(self) -> Any:
        """The schema: an object, true or false."""

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The keywords that apply."""

    @property
    def referred(self) -> Sequence[Self]:
        """The schemas that its references lead to."""

    def one(self, keyword: str) -> Self | None:
        """Return the schema under a keyword; None if there is none."""

    def children(self, keyword: str) -> Sequence[Self]:
        """Return the schemas in the list under a keyword."""


def draft_words(draft: Draft) -> str:
    """Return the usual name of a draft."""
    return _DRAFT_WORDS[draft]


def value_words(value: Any) -> str:
    """Return a value as JSON with sorted keys, cut if it is long."""
    return excerpt(print_exact(value, sort_keys=True), 80)


def said(keyword: str, value: Any) -> str:
    """Return a keyword with its value: ``maxLength 10``."""
    return f"{keyword} {value_words(value)}"


def type_words(schema: Readable, depth: int = 0) -> str:
    """Return a schema in one line: ``string | null``, ``array<integer>``, ``enum ["A","B"]``, ``anything``."""
    if isinstance(schema.value, bool):
        return "anything" if schema.value else "nothing"
    keywords = schema.keywords
    if depth > _MAX_DEPTH:
        return "…"
    if "enum" in keywords or "const" in keywords:
        return said("enum", keywords["enum"]) if "enum" in keywords else said("const", keywords["const"])
    referred = schema.referred
    if referred:
        return type_words(referred[0], depth + 1)
    named = keywords.get("type")
    if named is not None:
        names = named if isinstance(named, list) else [named]
        return " | ".join(_name_words(name, schema, depth) for name in names)
    for keyword, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if keyword in keywords:
            return sign.join(type_words(branch, depth + 1) for branch in schema.children(keyword)) or "anything"
    return "object" if "properties" in keywords else "anything"


def _name_words(name: Any, schema: Readable, depth: int) -> str:
    items = schema.one("items") if name == "array" else None
    return f"array<{type_words(items, depth + 1)}>" if items else str(name)
