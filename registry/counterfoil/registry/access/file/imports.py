"""Text of an access file from Kafka's access control lists, Karapace's file or an htpasswd file."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.access.file.values import read_htpasswd
from counterfoil.registry.access.identities.hashes import InvalidHash, karapace_hash
from counterfoil.registry.access.resources import ResourceKind
from counterfoil.registry.access.rules import EVERYBODY, GROUP, USER, Glob, ResourcePattern, is_name, is_user_name
from counterfoil.schema.contexts import DEFAULT_CONTEXT
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# The text of an access file that is made of what was imported.

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.@/-]*(:[A-Za-z0-9_.@/-]+)?")
_OTHER_MEANINGS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


class ImportRefused(CounterfoilError):
    """The imported file has entries that cannot be translated exactly: nothing is printed before they are changed."""

    exit_code = ExitCode.PRECONDITION

    def __init__(self, path: str, problems: Sequence[str]) -> None:
        super().__init__(f"{path} cannot be imported: {'; '.join(problems)}")
        self.path = path
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class ImportedRule:
    """A rule: the effect is ``allow`` or ``deny``, the operations are their names or one role."""

    effect: str
    operations: tuple[str, ...]
    principal: str
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportedAccess:
    """The imported declarations. ``notes`` name the entries that were left out or have another meaning here."""

    users: Mapping[str, str | Mapping[str, str]]
    rules: Sequence[ImportedRule]
    notes: Sequence[str]

    @property
    def text(self) -> str:
        """The access file."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield "# Read this before use: it was made from the rules of another system, and nothing is applied yet."
        for note in self.notes:
            yield f"# - {note}"
        yield "admins: []   # the principals that may do everything, such as User:alice"
        if self.users:
            yield "users:"
        for name, given in self.users.items():
            yield f"  {scalar(name)}: {scalar(given) if isinstance(given, str) else _mapping(given)}"
        if self.rules:
            yield "rules:"
        for rule in dict.fromkeys(self.rules):
            to, on = scalar(rule.principal), _one_or_more(rule.resources)
            yield f"  - {{{rule.effect}: {_one_or_more(rule.operations)}, to: {to}, on: {on}}}"


def scalar(text: str) -> str:
    """Return a text as YAML writes it: plain where it has only this meaning, else in quotes.

    >>> scalar("User:alice"), scalar("pay.*"), scalar("no")
    ('User:alice', '"pay.*"', '"no"')
    """
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _OTHER_MEANINGS
    return text if is_plain else f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _one_or_more(texts: Sequence[str]) -> str:
    return scalar(texts[0]) if len(texts) == 1 else f"[{', '.join(map(scalar, texts))}]"


def _mapping(given: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}: {scalar(value)}' for key, value in given.items())}}}"


# Kafka's access control lists: the text of ``kafka-acls --list``, or the JSON of ``rpk security acl list``.
#
# A topic's rights become rights on its subjects: ``t-key`` and ``t-value`` for a literal name, the prefix for a prefix.

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
    resources = _acl_resources(acl, kind)
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


def _acl_resources(acl: _Acl, kind: str) -> tuple[str, ...]:
    if kind == "REGISTRY":
        return ("registry",)
    if acl.name == "*":
        return (f"context:{DEFAULT_CONTEXT}",)
    if acl.pattern_type.upper() == "PREFIXED":
        return (_subject(Glob((acl.name, ""))),)
    names = (acl.name,) if kind == "SUBJECT" else (f"{acl.name}-key", f"{acl.name}-value")
    return tuple(_subject(Glob((name,))) for name in names)


def _subject(glob: Glob) -> str:
    return str(ResourcePattern(ResourceKind.SUBJECT, glob, Glob((DEFAULT_CONTEXT,))))


# Karapace's authorization file: users with their hashes, and regular expressions on resources.
#
# Karapace matches a pattern at the beginning of a resource and not at its end, so that ``Subject:foo`` is a prefix.
# Source: Karapace's documentation and ``karapace/core/auth.py``.

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
    users = dict(_karapace_users(_entries(document, "users", problems), problems))
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


def _karapace_users(entries: list[dict[str, Any]], problems: list[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
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
            found = list(_karapace_resources(resource))
        except (_NotTranslatable, TypeError):
            problems.append(f"{shown}: this regular expression has no exact translation")
            continue
        for on, is_config in found:
            operations = (_CONFIG_OPERATIONS if is_config else _SUBJECT_OPERATIONS)[operation]
            yield ImportedRule("allow", operations, USER + name, (on,))


def _karapace_resources(text: Any) -> Iterator[tuple[str, bool]]:
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
    return str(ResourcePattern(ResourceKind.SUBJECT, glob, context)), False


# The users of an htpasswd file.


def import_htpasswd(data: bytes, *, path: str) -> ImportedAccess:
    """Return the users of a file; raise ``InvalidAccessFile`` for hashes of kinds that are refused."""
    lines = read_htpasswd(data, path=path)
    notes = [f"left out: {line.name} is disabled" for line in lines if line.is_disabled]
    notes += [f"weak hash: {line.name}: {line.stored.weakness}" for line in lines if line.stored.weakness]
    return ImportedAccess({line.name: line.text for line in lines if not line.is_disabled}, [], notes)
