"""The facts that make up a registry, each of them as a JSON document, and the errors that end a move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.store.changes import SCOPE_SETTINGS
from counterfoil.registry.subjects.versions import Content, make_content
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import BadRequest, CounterfoilError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.object_forms import RequestJson, read_texts, without_null
from counterfoil.schema.rest.schemas import SCHEMA, schema_document
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.subjects import Config, Mode


# The errors that end a move, each with the exit code of the command.

_SHOWN = 20


class MovingError(CounterfoilError):
    """A move that is not possible."""

    exit_code = ExitCode.PRECONDITION


class DamagedFile(MovingError):
    """A file that was altered or damaged: ``line`` (from 1) is the first line that shows it."""

    def __init__(self, path: str, line: int, problem: str) -> None:
        super().__init__(f"{path}, line {line}: {problem}; nothing was written")
        self.path = path
        self.line = line
        self.problem = problem


class UnreadableContent(MovingError):
    """Content of the source that cannot be moved; ``problems`` has one sentence for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            f"{counted(len(problems), 'thing')} cannot be read: {_listed(problems)}; nothing was written: "
            "leave them out with --skip-unreadable"
        )
        self.problems = tuple(problems)


class Clashes(MovingError):
    """Content of the target that differs from the source's; ``problems`` has one sentence for each."""

    exit_code = ExitCode.CONFLICT

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            f"{counted(len(problems), 'clash', 'clashes')} with the target: {_listed(problems)}; nothing was written"
        )
        self.problems = tuple(problems)


class NotTheSame(MovingError):
    """Content that was read back from the target and differs from the source's; ``problems`` has one sentence each."""

    exit_code = ExitCode.BROKEN

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            f"{counted(len(problems), 'thing was', 'things were')} copied and read back with other content: "
            f"{_listed(problems)}"
        )
        self.problems = tuple(problems)


class SourceChanged(MovingError):
    """A source that was written to during each attempt to read it."""

    exit_code = ExitCode.CONFLICT


class PeerUnreachable(MovingError):
    """A registry that cannot be reached, or does not respond in time."""

    exit_code = ExitCode.UNREACHABLE


class PeerRefused(MovingError):
    """A registry that refused a request."""

    exit_code = ExitCode.REFUSED


def _listed(problems: Sequence[str]) -> str:
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more


# The facts that make up a registry, and each of them as a JSON document.
#
# A registry is the sum of its facts, in this order: versions (each after those that it refers to), contexts, records,
# and the settings of scopes. Written to an empty registry in that order they make the same registry again.

Key = tuple[QualifiedSubject, int]
"""A subject and the number of one of its versions."""


@dataclass(frozen=True, slots=True)
class VersionFact:
    """One version of a subject. ``ts`` (epoch ms) is None if the source does not have the time when it was stored."""

    subject: QualifiedSubject
    version: int
    schema_id: int
    content: Content
    deleted: bool = False
    ts: int | None = None

    @property
    def key(self) -> Key:
        """The subject and the version number."""
        return self.subject, self.version

    def __str__(self) -> str:
        return f"version {self.version} of subject {str(self.subject)!r}"


@dataclass(frozen=True, slots=True)
class ContextFact:
    """A context: the highest id that it has assigned, and whether it is listed."""

    name: str
    max_id: int
    listed: bool = True

    def __str__(self) -> str:
        return f"context {self.name!r}"


@dataclass(frozen=True, slots=True)
class RecordFact:
    """An entry beside schemas: a key, an association, a bridge, a report about one."""

    kind: str
    key: tuple[str, ...]
    document: Document

    def __str__(self) -> str:
        return f"{self.kind} {'/'.join(self.key)!r}"


@dataclass(frozen=True, slots=True)
class SettingsFact:
    """The config and mode of a subject, a context, or the top level."""

    scope: QualifiedSubject
    config: Config | None = None
    mode: Mode | None = None

    def __str__(self) -> str:
        return f"config and mode of {str(self.scope) or 'the default context'!r}"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Content of the source that cannot be moved; ``problem`` is a sentence with what and why."""

    problem: str


Fact = VersionFact | ContextFact | RecordFact | SettingsFact
Found = Fact | Unreadable


def fact_document(fact: Fact) -> Document:
    """Return ``fact`` as the document of one line of a backup."""
    match fact:
        case VersionFact():
            return {"fact": "version", **_version_document(fact)}
        case ContextFact():
            return {"fact": "context", "context": fact.name, "maxId": fact.max_id, "listed": fact.listed}
        case RecordFact():
            return {"fact": "record", "kind": fact.kind, "key": list(fact.key), "document": fact.document}
        case SettingsFact():
            return {"fact": "settings", **_place(fact.scope), **SCOPE_SETTINGS.write(fact)}


def _place(subject: QualifiedSubject) -> Document:
    return {"context": subject.context, "subject": subject.name}


def _version_document(fact: VersionFact) -> Document:
    return without_null(
        {
            **_place(fact.subject),
            "version": fact.version,
            "id": fact.schema_id,
            "deleted": fact.deleted,
            "ts": fact.ts,
            "guid": str(fact.content.guid),
            **schema_document(fact.content),
        }
    )


def read_fact(value: object) -> Fact:
    """Return the fact of the document ``value``; raise ``BadRequest`` with what is wrong in it."""
    fields = RequestJson(value, root="The line").members()
    kind = fields.get("fact")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise BadRequest(f"fact is {kind!r}; expected one of {', '.join(_READERS)}")
    return read(fields)


def _subject_of(fields: Mapping[str, Any]) -> QualifiedSubject:
    line = RequestJson(fields)
    return QualifiedSubject(line.member("context").text(), line.member("subject").text())


def _read_version(fields: Mapping[str, Any]) -> VersionFact:
    content = read_content(fields)
    if str(content.guid) != fields.get("guid"):
        raise BadRequest(
            f"guid is {fields.get('guid')!r}, and the schema's is '{content.guid}': one of them was altered"
        )
    ts = fields.get("ts")
    return VersionFact(
        _subject_of(fields),
        whole_number(fields, "version", least=1),
        whole_number(fields, "id"),
        content,
        deleted=_flag(fields, "deleted"),
        ts=None if ts is None else whole_number(fields, "ts"),
    )


def read_content(fields: Mapping[str, Any]) -> Content:
    """Return the content in a document of a version, of this API or of a backup; Avro if it names no type."""
    schema = SCHEMA.read(RequestJson(fields))
    return make_content(
        schema.text,
        schema.schema_type,
        references=schema.references,
        metadata=schema.metadata,
        rule_set=schema.rule_set,
    )


def schema_of(content: Content) -> Schema:
    """Return the schema as a client sends it."""
    return Schema(content.text, content.schema_type, content.references, content.metadata, content.rule_set)


def whole_number(fields: Mapping[str, Any], name: str, *, least: int = 0) -> int:
    """Return a field that is a number of at least ``least``; raise ``BadRequest`` for anything else."""
    value = fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise BadRequest(f"{name} is {value!r}; expected a whole number from {least}")


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name)
    if isinstance(value, bool):
        return value
    raise BadRequest(f"{name} is {value!r}; expected true or false")


def _read_context(fields: Mapping[str, Any]) -> ContextFact:
    return ContextFact(
        RequestJson(fields).member("context").text(), whole_number(fields, "maxId"), listed=_flag(fields, "listed")
    )


def _read_record(fields: Mapping[str, Any]) -> RecordFact:
    line = RequestJson(fields)
    return RecordFact(
        line.member("kind").text(), read_texts(line.member("key")), dict(line.member("document").members())
    )


def _read_settings(fields: Mapping[str, Any]) -> SettingsFact:
    settings = SCOPE_SETTINGS.read(RequestJson(fields))
    return SettingsFact(_subject_of(fields), settings.config, settings.mode)


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Fact]]] = {
    "version": _read_version,
    "context": _read_context,
    "record": _read_record,
    "settings": _read_settings,
}
