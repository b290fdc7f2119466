"""Kafka's access control lists: the text of ``kafka-acls --list``, or the JSON of ``rpk security acl list``.

A topic's rights become rights on its subjects: ``t-key`` and ``t-value`` for a literal name, the prefix for a prefix.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.auth.imports.text import ImportedAccess, ImportedRule, ImportRefused
from counterfoil.registry.domain.access.names import GROUP, USER, is_name
from counterfoil.registry.domain.access.patterns import Glob, Pattern
from counterfoil.registry.domain.access.resources import Kind
from counterfoil.registry.domain.access.rules import EVERYBODY
from counterfoil.schema.contexts import DEFAULT_CONTEXT
from counterfoil.schema.counting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

_RESOURCE: Final = re.compile(r"ResourcePattern\(resourceType=(\w+), name=(.*), patternType=(\w+)\)")
_ENTRY: Final = re.compile(r"\(principal=(.*), host=([^,]*), operation=(\w+), permissionType=(\w+)\)")
_LEFT_OUT: Final = frozenset({"GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"})
_TAKEN: Final = frozenset({"TOPIC", "SUBJECT", "REGISTRY"})
_OPERATIONS: Final = frozenset({"READ", "WRITE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"})
_ALL: Final = {"allow": ("WRITE", "DELETE", "ALTER_CONFIGS"), "deny": ("admin",)}
"""What ALL is. Denied it is every operation, which the role ``admin`` lists."""
_WITHOUT_MEANING: Final = frozenset({"CREATE", "ALTER", "IDEMPOTENT_WRITE", "CLUSTER_ACTION", "TWO_PHASE_COMMIT"})
_COLUMNS: Final = {
    "resource_type": ("resourcetype",),
    "name": ("resourcename", "name"),
    "pattern_type": ("resourcepatterntype", "patterntype"),
    "principal": ("principal",),
    "host": ("host",),
    "operation": ("operation",),
    "permission": ("permission", "permissiontype"),
}


@dataclass(frozen=True, slots=True)
class _Acl:
    resource_type: str
    name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


def import_kafka_acls(text: str, *, path: str) -> ImportedAccess:
    """Return the rules of a list; raise ``ImportRefused`` with all entries that cannot be translated."""
    problems: list[str] = []
    acls = list(_of_json(text, problems) if text.lstrip().startswith(("{", "[")) else _of_text(text, problems))
    left_out: Counter[str] = Counter()
    rules = [rule for acl in acls for rule in _rule(acl, problems, left_out)]
    if not acls and not problems:
        problems.append("it has no entry of an access control list")
    if problems:
        raise ImportRefused(path, problems)
    notes = [f"left out: {counted(count, 'entry', 'entries')} for {what}" for what, count in sorted(left_out.items())]
    if any(rule.principal == EVERYBODY for rule in rules):
        notes.append("User:* is every caller but the anonymous one, unlike in Kafka")
    return ImportedAccess({}, rules, notes)


def _of_text(text: str, problems: list[str]) -> Iterator[_Acl]:
    resource: tuple[str, ...] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _RESOURCE.search(line):
            resource = found.groups()
        elif found := _ENTRY.search(line):
            if resource is None:
                problems.append(f"line {number} is about no resource")
            else:
                yield _Acl(*resource, *found.groups())
        elif line.strip():
            problems.append(f"line {number} is neither a resource nor an entry of an access control list")


def _of_json(text: str, problems: list[str]) -> Iterator[_Acl]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        problems.append("it is not JSON")
        return
    rows = document if isinstance(document, list) else document.get("matches", document.get("acls"))
    if not isinstance(rows, list):
        problems.append("the JSON has no list of matches")
        return
    for number, row in enumerate(rows, start=1):
        acl = _of_row(row)
        if acl is None:
            problems.append(f"match {number} has no {', '.join(_COLUMNS)}")
        else:
            yield acl


def _of_row(row: Any) -> _Acl | None:
    if not isinstance(row, dict):
        return None
    folded = {key.lower().replace("_", ""): value for key, value in row.items()}
    found = {column: next((folded[key] for key in keys if key in folded), None) for column, keys in _COLUMNS.items()}
    if not all(isinstance(value, str) for value in found.values()):
        return None
    return _Acl(**{column: str(value) for column, value in found.items()})


def _rule(acl: _Acl, problems: list[str], left_out: Counter[str]) -> Iterator[ImportedRule]:
    kind, operation, permission = acl.resource_type.upper(), acl.operation.upper(), acl.permission.lower()
    shown = f"{acl.principal} {operation} on {kind} {acl.name}"
    if kind in _LEFT_OUT or operation in _WITHOUT_MEANING:
        left_out[kind if kind in _LEFT_OUT else f"the operation {operation}"] += 1
        return
    mistake = _mistake(acl, kind, operation, permission)
    if mistake is not None:
        problems.append(f"{shown}: {mistake}")
        return
    resources = _resources(acl, kind)
    operations = _ALL[permission] if operation == "ALL" else (operation,)
    yield ImportedRule(permission, operations, acl.principal, resources)


def _mistake(acl: _Acl, kind: str, operation: str, permission: str) -> str | None:
    """Return why an entry cannot be translated, or None."""
    word, _, name = acl.principal.partition(":")
    checks = {
        f"rights by host ({acl.host}) do not exist here": acl.host == "*",
        "the type of the resource is unknown": kind in _TAKEN,
        "the type of the pattern must be LITERAL or PREFIXED": acl.pattern_type.upper() in {"LITERAL", "PREFIXED"},
        "the operation is unknown": operation == "ALL" or operation in _OPERATIONS,
        "the permission must be ALLOW or DENY": permission in _ALL,
        "the principal must be User:NAME or Group:NAME": f"{word}:" in {USER, GROUP} and is_name(name),
        "the name of the resource is empty": bool(acl.name) or kind == "REGISTRY",
    }
    return next((problem for problem, is_right in checks.items() if not is_right), None)


def _resources(acl: _Acl, kind: str) -> tuple[str, ...]:
    if kind == "REGISTRY":
        return ("registry",)
    if acl.name == "*":
        return (f"context:{DEFAULT_CONTEXT}",)
    if acl.pattern_type.upper() == "PREFIXED":
        return (_subject(Glob((acl.name, ""))),)
    names = (acl.name,) if kind == "SUBJECT" else (f"{acl.name}-key", f"{acl.name}-value")
    return tuple(_subject(Glob((name,))) for name in names)


def _subject(glob: Glob) -> str:
    return str(Pattern(Kind.SUBJECT, glob, Glob((DEFAULT_CONTEXT,))))
