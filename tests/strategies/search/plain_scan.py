"""A search by reading every stored Avro schema, written from the description of the search alone.

It knows neither the index nor the modules of the search: texts are parsed as JSON, and compared character by character.
It finds subjects, fields and declared types by one or more words without prefixes, in the latest versions.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class PlainHit(NamedTuple):
    """What is found: ``rank`` is 0 for an equal name, 1 for a beginning, 2 for a name with the word inside."""

    rank: int
    kind: str
    subject: str
    path: str
    name: str


def plain_fold(text: str) -> str:
    """Return a text without case and ``_-.``."""
    kept = "".join(character for character in text if character not in "_-.")
    return (kept or text).casefold()


def scan(latest: dict[str, str], query: str) -> set[PlainHit]:
    """Return what a query finds in the latest versions, by subject; contexts are not known here."""
    words = [plain_fold(word) for word in query.split()]
    found = set()
    for subject, text in latest.items():
        for kind, name, path, type_name in [("subject", subject, "", ""), *_elements(json.loads(text), "")]:
            surroundings = [plain_fold(each) for each in (name, path, type_name, subject)]
            ranks = [rank for word in words if (rank := _rank(plain_fold(name), word)) is not None]
            if ranks and all(any(_rank(each, word) is not None for each in surroundings) for word in words):
                found.add(PlainHit(min(ranks), kind, subject, path, name))
    return found


def _rank(name: str, word: str) -> int | None:
    if name == word:
        return 0
    if name[: len(word)] == word:
        return 1
    return 2 if len(word) > 2 and name.find(word) > 0 else None


def _elements(schema: Any, inside: str) -> list[tuple[str, str, str, str]]:
    """Return kind, name, path and type of the fields and types of nested records without references."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return []
    full = f"{schema['namespace']}.{schema['name']}" if schema.get("namespace") else schema["name"]
    found = [("element", schema["name"], full, "record")]
    for field in schema["fields"]:
        path = f"{inside}.{field['name']}" if inside else field["name"]
        nested = field["type"]
        shown = nested["name"] if isinstance(nested, dict) else nested
        found.append(("element", field["name"], path, shown))
        found += _elements(nested, path)
    return found
