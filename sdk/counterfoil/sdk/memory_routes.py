"""The requests that the in-memory registry knows, and the replies to them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID

from counterfoil.schema.compatibility.levels import parse_level
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_prefix, parse_subject
from counterfoil.schema.errors import (
    BadRequest,
    ContextNotEmpty,
    InvalidMode,
    InvalidSchema,
    InvalidVersion,
    MissingBody,
    NotFound,
    OperationNotPermitted,
    RegistryError,
    SchemaNotFound,
    SubjectNotFound,
    VersionNotFound,
)
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.model import SchemaType
from counterfoil.sdk.entities import Config, Deletion, Mode, Visibility
from counterfoil.sdk.entity_json import (
    Node,
    UnexpectedShapeError,
    config_json,
    config_keys,
    read_config,
    read_schema,
    schema_json,
)
from counterfoil.sdk.exchange import MEDIA_TYPE
from counterfoil.sdk.transport import Reply

if TYPE_CHECKING:
    from counterfoil.schema.model import Schema
    from counterfoil.sdk.memory import Entry, Memory
    from counterfoil.sdk.transport import Request

_MAX_VERSION: Final = 2**31 - 1
_NO_EFFECT: Final = frozenset(
    {
        "alias",
        "alias_for_deks",
        "compatibility_group",
        "default_metadata",
        "override_metadata",
        "default_rule_set",
        "override_rule_set",
    }
)


def answer(memory: Memory, request: Request) -> Reply:
    """The reply to the request, errors included."""
    try:
        found = _Call(memory, request).answer()
    except UnexpectedShapeError as error:
        return _error_reply(BadRequest(f"The body is not what this request takes: {error}"))
    except RegistryError as error:
        return _error_reply(error)
    return found


def _error_reply(error: RegistryError) -> Reply:
    return _json_reply({"error_code": error.code, "message": error.message}, error.status)


def _json_reply(value: object, status: int = 200) -> Reply:
    return Reply(status, {"content-type": MEDIA_TYPE}, json.dumps(value).encode())


def _text_reply(text: str) -> Reply:
    return Reply(200, {"content-type": MEDIA_TYPE}, text.encode())


class _Call:
    """One request: what it names, and what it is answered with."""

    def __init__(self, memory: Memory, request: Request) -> None:
        parts = urlsplit(request.url)
        segments = [unquote(segment) for segment in parts.path.strip("/").split("/")] if parts.path.strip("/") else []
        self._context = DEFAULT_CONTEXT
        self._is_rooted = len(segments) > 2 and segments[0] == "contexts"  # noqa: PLR2004 - /contexts/{name}/…
        if self._is_rooted:
            self._context = _context_name(segments[1])
            segments = segments[2:]
        self._memory = memory
        self._method = request.method
        self._segments = segments
        self._query = parse_qs(parts.query, keep_blank_values=True)
        self._body = request.body

    def answer(self) -> Reply:
        """The reply; raises the registry's errors."""
        match self._segments:
            case []:
                return _json_reply({})
            case ["schemas", *rest]:
                return self._schemas(rest)
            case ["subjects", *rest]:
                return self._subjects(rest)
            case ["compatibility", "subjects", subject, "versions", *rest]:
                return self._compatibility(self._subject(subject), rest)
            case ["config", *rest]:
                return self._config(self._scope(rest))
            case ["mode", *rest]:
                return self._mode(self._scope(rest))
            case ["contexts", *rest]:
                return self._contexts(rest)
            case _:
                raise self._no_route()

    # --- the parts of a request ------------------------------------------------------------------------------------

    def _subject(self, text: str) -> QualifiedSubject:
        return parse_subject(text, context=self._context)

    def _scope(self, segments: list[str]) -> QualifiedSubject:
        match segments:
            case []:
                return QualifiedSubject(self._context, "")
            case [subject]:
                return self._subject(subject)
            case _:
                raise self._no_route()

    def _flag(self, name: str) -> bool:
        return self._query.get(name, [""])[0].lower() == "true"

    def _visibility(self) -> Visibility:
        if self._flag("deletedOnly"):
            return Visibility.DELETED_ONLY
        return Visibility.WITH_DELETED if self._flag("deleted") else Visibility.ACTIVE

    def _deletion(self) -> Deletion:
        return Deletion.PERMANENT if self._flag("permanent") else Deletion.SOFT

    def _json_body(self) -> Node:
        if self._body is None:
            raise MissingBody("This request needs a body")
        try:
            return Node(json.loads(self._body))
        except ValueError as error:
            raise BadRequest(f"The body is not JSON: {error}") from None

    def _schema(self) -> Schema:
        body = self._json_body()
        named = body.optional("schemaType", Node.text) or SchemaType.AVRO
        if named not in list(SchemaType):
            raise InvalidSchema(f"Invalid schema type {named}; expected one of {', '.join(SchemaType)}")
        return read_schema(Node({"schema": "", **body.value}))  # without a text the latest version's is meant

    def _no_route(self) -> NotFound:
        return NotFound(f"The in-memory registry has no {self._method} /{'/'.join(self._segments)}")

    # --- schemas by id and guid ------------------------------------------------------------------------------------

    def _schemas(self, segments: list[str]) -> Reply:
        match segments:
            case ["types"]:
                return _json_reply([known.value for known in SchemaType if _is_built(known)])
            case ["ids", schema_id, *rest]:
                return self._schema_by_id(_number(schema_id), rest)
            case ["guids", guid, *rest]:
                return self._schema_by_guid(guid, rest)
            case _:
                raise self._no_route()

    def _schema_by_id(self, schema_id: int, segments: list[str]) -> Reply:
        subject = self._subject(self._query.get("subject", [""])[0])
        uses = self._memory.uses_of_id(subject.context, schema_id)
        if not subject.is_default and not subject.is_context and all(use.subject != subject for use in uses):
            raise SchemaNotFound(f"Schema {schema_id} not found under {str(subject)!r}")
        visible = [use for use in uses if use.is_visible(self._visibility())]
        match segments:
            case []:
                return _json_reply(_content_json(uses[0]))
            case ["schema"]:
                return _text_reply(uses[0].schema.text)
            case ["subjects"]:
                return _json_reply([str(use.subject) for use in visible])
            case ["versions"]:
                return _json_reply([{"subject": str(use.subject), "version": use.version} for use in visible])
            case _:
                raise self._no_route()

    def _schema_by_guid(self, text: str, segments: list[str]) -> Reply:
        try:
            uses = self._memory.uses_of_guid(UUID(text))
        except ValueError:
            uses = []
        match segments:
            case ["ids"]:
                found = sorted({(use.subject.context, use.id) for use in uses})
                return _json_reply([{"context": context, "id": schema_id} for context, schema_id in found])
            case [] if uses:
                return _json_reply(_content_json(uses[0]))
            case []:
                raise SchemaNotFound(f"Schema {text} not found")
            case _:
                raise self._no_route()

    # --- subjects --------------------------------------------------------------------------------------------------

    def _subjects(self, segments: list[str]) -> Reply:
        match (self._method, segments):
            case ("GET", []):
                return _json_reply(self._listed())
            case ("POST", [subject]):
                name, normalize = self._subject(subject), self._flag("normalize")
                entry = self._memory.lookup(name, self._schema(), self._visibility(), normalize=normalize)
                return _json_reply(_entry_json(entry))
            case ("DELETE", [subject]):
                return _json_reply(self._memory.delete_subject(self._subject(subject), self._deletion()))
            case ("GET", [subject, "metadata"]):
                pairs = dict(zip(self._query.get("key", []), self._query.get("value", []), strict=False))
                entry = self._memory.version_with_metadata(self._subject(subject), pairs, self._visibility())
                return _json_reply(_entry_json(entry))
            case (_, [subject, "versions", *rest]):
                return self._versions(self._subject(subject), rest)
            case _:
                raise self._no_route()

    def _listed(self) -> list[str]:
        prefix = parse_prefix(self._query.get("subjectPrefix", ["" if self._is_rooted else ":*:"])[0])
        context = self._context if self._is_rooted and prefix.context == DEFAULT_CONTEXT else prefix.context
        return sorted(
            str(subject)
            for subject in self._memory.subjects(self._visibility())
            if context in (None, subject.context) and subject.name.startswith(prefix.name)
        )

    def _versions(self, subject: QualifiedSubject, segments: list[str]) -> Reply:
        match (self._method, segments):
            case ("GET", []):
                return _json_reply([entry.version for entry in self._memory.versions(subject, self._visibility())])
            case ("POST", []):
                entry = self._memory.register(subject, self._schema(), normalize=self._flag("normalize"))
                return _json_reply(_entry_json(entry))
            case ("DELETE", [version]):
                return _json_reply(self._memory.delete_version(subject, _version(version), self._deletion()))
            case ("GET", [version]):
                return _json_reply(_entry_json(self._version(subject, version)))
            case ("GET", [version, "schema"]):
                return _text_reply(self._version(subject, version).schema.text)
            case ("GET", [version, "referencedby"]):
                return _json_reply(self._referrers(subject, version))
            case _:
                raise self._no_route()

    def _version(self, subject: QualifiedSubject, version: str) -> Entry:
        return self._memory.version(subject, _version(version), self._visibility())

    def _referrers(self, subject: QualifiedSubject, version: str) -> list[int]:
        target = self._memory.version(subject, _version(version), Visibility.WITH_DELETED)
        found = self._memory.referrers(target)
        return sorted({entry.id for entry in found if entry.is_visible(self._visibility())})

    # --- compatibility ---------------------------------------------------------------------------------------------

    def _compatibility(self, subject: QualifiedSubject, segments: list[str]) -> Reply:
        if self._method != "POST" or len(segments) > 1:
            raise self._no_route()
        against = None if not segments else self._against(subject, _version(segments[0]))
        verbose = self._flag("verbose")
        try:
            verdict = self._memory.check(subject, self._schema(), against, normalize=self._flag("normalize"))
        except InvalidSchema as error:
            if not verbose:
                raise
            return _json_reply({"is_compatible": False, "messages": [error.message]})
        messages = {"messages": list(verdict.messages)} if verbose else {}
        return _json_reply({"is_compatible": verdict.is_compatible, **messages})

    def _against(self, subject: QualifiedSubject, number: int | None) -> list[Entry]:
        """The one version to judge against; a latest that is not there allows everything."""
        try:
            return [self._memory.version(subject, number, Visibility.ACTIVE)]
        except (SubjectNotFound, VersionNotFound):
            if number is None:
                return []
            raise VersionNotFound(f"Version {number} of subject {str(subject)!r} not found") from None

    # --- config and mode -------------------------------------------------------------------------------------------

    def _config(self, scope: QualifiedSubject) -> Reply:
        scopes = self._memory.scopes
        match self._method:
            case "GET":
                found = scopes.effective_config(scope) if self._flag("defaultToGlobal") else scopes.config(scope)
            case "DELETE":
                found = scopes.delete_config(scope)
            case "PUT":
                change, clear = self._config_change()
                return _json_reply(config_json(scopes.set_config(scope, change, clear)))
            case _:
                raise self._no_route()
        return _json_reply(config_json(found, level_key="compatibilityLevel"))

    def _config_change(self) -> tuple[Config, frozenset[str]]:
        body = self._json_body()
        level = body.optional("compatibility", Node.text)
        if level is not None:
            parse_level(level)  # raises the registry's own error for a word that is no level
        given = body.entries()
        name_by_key = {key: name for name, key in config_keys().items()}
        unsupported = sorted(
            key for key in given if name_by_key.get(key) in _NO_EFFECT and given[key].value is not None
        )
        if unsupported:
            raise OperationNotPermitted(f"The in-memory registry does not act on {', '.join(unsupported)}")
        clear = frozenset(name_by_key[key] for key in given if key in name_by_key and given[key].value is None)
        return read_config(body), clear

    def _mode(self, scope: QualifiedSubject) -> Reply:
        scopes = self._memory.scopes
        match self._method:
            case "GET":
                found = scopes.effective_mode(scope) if self._flag("defaultToGlobal") else scopes.mode(scope)
                return _json_reply({"mode": found.value})
            case "DELETE":
                was = scopes.delete_mode(scope, recursive=self._flag("recursive"))
                return _json_reply({} if was is None else {"mode": was.value})
            case "PUT":
                return self._set_mode(scope)
            case _:
                raise self._no_route()

    def _set_mode(self, scope: QualifiedSubject) -> Reply:
        text = self._json_body().optional("mode", Node.text)
        if text is not None and text.upper() not in list(Mode):
            raise InvalidMode(f"Unknown mode {text!r}; expected one of {', '.join(Mode)}")
        mode = None if text is None else Mode(text.upper())
        if mode is Mode.FORWARD and not scope.is_global:
            raise InvalidMode("FORWARD is a mode of the level above all contexts alone")
        holds_versions = not self._flag("force") and self._memory.holds_versions(scope)
        self._memory.scopes.set_mode(scope, mode, holds_versions=holds_versions)
        return _json_reply({"mode": text})

    # --- contexts --------------------------------------------------------------------------------------------------

    def _contexts(self, segments: list[str]) -> Reply:
        match (self._method, segments):
            case ("GET", []):
                return _json_reply([DEFAULT_CONTEXT, *sorted(self._memory.contexts - {DEFAULT_CONTEXT})])
            case ("DELETE", [name]):
                context = _context_name(name)
                held = self._memory.subjects(Visibility.WITH_DELETED)
                if any(subject.context == context for subject in held):
                    raise ContextNotEmpty(f"The context {context} holds schemas")
                self._memory.contexts.discard(context)
                return Reply(204)
            case _:
                raise self._no_route()


def _context_name(text: str) -> str:
    """The context that a path names: ``.ctx``, ``ctx`` and ``:.ctx:`` are one."""
    name = parse_subject(text).context if text.startswith(":") else text
    return name if name.startswith(".") else f".{name}"


def _is_built(schema_type: SchemaType) -> bool:
    try:
        format_for(schema_type)
    except InvalidSchema:
        return False
    return True


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_VERSION))


def _number(text: str) -> int:
    if not _is_number(text):
        raise NotFound(f"{text!r} is no number")
    return int(text)


def _version(text: str) -> int | None:
    """The number of a version; None for the latest."""
    if text.lower() == "latest" or text == "-1":
        return None
    if _is_number(text) and 1 <= int(text) <= _MAX_VERSION:
        return int(text)
    raise InvalidVersion(f"The version {text!r} is not valid; expected 'latest' or a number from 1 to {_MAX_VERSION}")


def _content_json(entry: Entry) -> dict[str, object]:
    schema_type = {"schemaType": entry.schema.schema_type.value}
    return {"guid": str(entry.guid), **schema_json(entry.schema), **schema_type}


def _entry_json(entry: Entry) -> dict[str, object]:
    return {"subject": str(entry.subject), "version": entry.version, "id": entry.id, **_content_json(entry)}
