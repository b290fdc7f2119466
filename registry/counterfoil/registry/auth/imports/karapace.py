"""Karapace's authorization file: users with their hashes, and regular expressions on resources.

Karapace matches a pattern at the beginning of a resource and not at its end, so that ``Subject:foo`` is a prefix.
Source: Karapace's documentation and ``karapace/core/auth.py``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.auth.imports.text import ImportedAccess, ImportedRule, ImportRefused
from counterfoil.registry.auth.passwords.hashes import InvalidHash, karapace_hash
from counterfoil.registry.domain.access.names import USER, is_user_name
from counterfoil.registry.domain.access.patterns import Glob, Pattern
from counterfoil.registry.domain.access.resources import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SUBJECT: Final = "Subject:"
_CONFIG: Final = "Config:"
_EVERYTHING: Final = ".*"
_SUBJECT_OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Read": ("reader",),
    "Write": ("WRITE", "PURGE", "ALTER_CONFIGS"),
}
_CONFIG_OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = {"Read": ("DESCRIBE_CONFIGS",), "Write": ("ALTER_CONFIGS",)}
_GROUP: Final = re.compile(r"Subject:\(([^()]*)\)(\.\*|\$)?")
_LITERAL: Final = re.compile(r"((?:[^\\^$.|?*+()\[\]{}]|\.(?![*+?{])|\\[^A-Za-z0-9])*)(\.\*|\$)?")
_ESCAPE: Final = re.compile(r"\\(.)")


class _NotTranslatable(Exception):
    pass


def import_karapace(data: bytes, *, path: str) -> ImportedAccess:
    """Return the users and rules of a file; raise ``ImportRefused`` with all entries that have no exact translation."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise ImportRefused(path, ["it is not JSON"]) from None
    if not isinstance(document, dict):
        raise ImportRefused(path, ["it is no JSON object with users and permissions"])
    problems: list[str] = []
    users = dict(_users(_entries(document, "users", problems), problems))
    rules = list(_rules(_entries(document, "permissions", problems), problems))
    if problems:
        raise ImportRefused(path, problems)
    notes = ["hashes of Karapace are weak: have each user set a new password with `counterfoil auth user passwd`"]
    return ImportedAccess(users, rules, notes if users else [])


def _entries(document: dict[str, Any], key: str, problems: list[str]) -> list[dict[str, Any]]:
    found = document.get(key, [])
    if isinstance(found, list) and all(isinstance(each, dict) for each in found):
        return found
    problems.append(f"{key} is no list of objects")
    return []


def _users(entries: list[dict[str, Any]], problems: list[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for entry in entries:
        name = entry.get("username")
        members = {key: entry.get(key) for key in ("algorithm", "salt", "password_hash")}
        if (
            not isinstance(name, str)
            or not is_user_name(name)
            or not all(isinstance(each, str) for each in members.values())
        ):
            problems.append(f"the user {name!r} lacks a name, an algorithm, a salt or a hash")
            continue
        texts = {key: str(value) for key, value in members.items()}
        try:
            karapace_hash(**texts)
        except InvalidHash as mistake:
            problems.append(f"the user {name}: {mistake}")
        yield name, texts


def _rules(entries: list[dict[str, Any]], problems: list[str]) -> Iterator[ImportedRule]:
    for entry in entries:
        name, operation, resource = (entry.get(key) for key in ("username", "operation", "resource"))
        shown = f"{name!r}, {operation!r} on {resource!r}"
        if not isinstance(name, str) or not is_user_name(name) or operation not in ("Read", "Write"):
            problems.append(f"{shown}: expected a user name, and Read or Write")
            continue
        try:
            found = list(_resources(resource))
        except (_NotTranslatable, TypeError):
            problems.append(f"{shown}: this regular expression has no exact translation")
            continue
        for on, is_config in found:
            operations = (_CONFIG_OPERATIONS if is_config else _SUBJECT_OPERATIONS)[operation]
            yield ImportedRule("allow", operations, USER + name, (on,))


def _resources(text: Any) -> Iterator[tuple[str, bool]]:
    """Yield the patterns of a regular expression, each with whether it is about the global config alone."""
    if not isinstance(text, str):
        raise _NotTranslatable
    if grouped := _GROUP.fullmatch(text.removeprefix("^")):
        alternatives = [f"{_SUBJECT}{each}{grouped[2] or ''}" for each in grouped[1].split("|")]
    else:
        alternatives = text.split("|")
    for each in alternatives:
        yield _resource(each.removeprefix("^"))


def _resource(text: str) -> tuple[str, bool]:
    if text == _EVERYTHING:
        return "registry", False
    if text.startswith(_CONFIG) and text[len(_CONFIG) :] in {"", "$", _EVERYTHING}:
        return "registry", True
    found = _LITERAL.fullmatch(text.removeprefix(_SUBJECT)) if text.startswith(_SUBJECT) else None
    if found is None:
        raise _NotTranslatable
    name = _ESCAPE.sub(r"\1", found[1])
    if found[2] == "$":
        glob = Glob((name,))
        if not name:
            raise _NotTranslatable
    else:
        glob = Glob((name, ""))
    context = Glob(("", "")) if glob.matches_all else Glob((".",))
    return str(Pattern(Kind.SUBJECT, glob, context)), False
