"""Responses: media types, documents as bytes, errors, and the differences for clients of older versions."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import orjson
from starlette.responses import Response

from counterfoil.registry.access.resources import REGISTRY, AccessOperation, AccessResource
from counterfoil.registry.access.rights import Caller, Needs
from counterfoil.registry.access.rules import GROUP, pattern_of
from counterfoil.registry.audit.events import EventKind, context_facts
from counterfoil.registry.http.shapes import BodyShape
from counterfoil.registry.subjects.documents import REGISTERED, SCHEMA_BY_ID
from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import (
    ConfigNotFound,
    Forbidden,
    IncompatibleSchema,
    ModeNotFound,
    NotAcceptable,
    RegistryError,
    SubjectNotFound,
    UnsupportedMediaType,
)
from counterfoil.schema.rest.object_forms import Document, ListOf

# The differences in responses for clients of older versions, as one table.
#
# Source: Confluent's release notes and REST API reference for Schema Registry 5 to 8.

_NEW_FIELDS: Final = frozenset({"guid", "ts", "deleted"})
_NEW_PATHS: Final = ("/schemas/guids", "/associations")
_AVRO: Final = "AVRO"
_TOLERANT: Final = b"confluent-accept-unknown-properties"
_PYTHON: Final = b"python/"

CLIENT_VERSION: Final = b"confluent-client-version"
"""The request header in which Confluent's clients send their language and version."""

VARY: Final = b"Confluent-Accept-Unknown-Properties, Confluent-Client-Version"
"""The request headers that responses with an entity tag depend on, beside those of HTTP itself."""


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: there are few of them
class ResponseDialect:
    """The differences in the responses of one version.

    ``code_by_error``: the ``error_code`` of an error, where it was another one; the status stays. ``absent_paths``: the
    beginnings of paths that the version does not have. The other fields name what is left out of the bodies that hold a
    schema.
    """

    code_by_error: Mapping[type[RegistryError], int] = field(default_factory=dict)
    absent_paths: tuple[str, ...] = ()
    registers_id_alone: bool = False
    leaves_out: frozenset[str] = frozenset()
    leaves_out_avro: bool = False
    leaves_out_owner_of_id: bool = False

    def without(self, document: Document, unwanted: frozenset[str]) -> Document:
        """Return ``document`` without the ``unwanted`` fields and the ones that this version omits for Avro schemas."""
        omits_type = self.leaves_out_avro and document.get("schemaType") == _AVRO
        return {
            name: value
            for name, value in document.items()
            if name not in unwanted and not (omits_type and name == "schemaType")
        }

    def translated(self, error: RegistryError) -> RegistryError:
        """Return ``error`` with the code that it has in this version."""
        for kind, code in self.code_by_error.items():
            if isinstance(error, kind):
                return RegistryError(error.message, status=error.status, code=code)
        return error

    def has(self, path: str) -> bool:
        """Return whether this version has a route of this path."""
        return not path.startswith(self.absent_paths)


@cache
def shaper(dialect: ResponseDialect, shape: Any) -> Callable[[Any], Any] | None:
    """Return the function that converts an operation's value of this ``shape`` for ``dialect``; None for no change."""
    is_list = isinstance(shape, ListOf)
    entity = shape.items if isinstance(shape, ListOf) else shape
    if not (isinstance(entity, BodyShape) and entity.has("schemaType")):
        return None
    if entity is REGISTERED and dialect.registers_id_alone:
        return _id_alone
    unwanted = dialect.leaves_out
    if entity is SCHEMA_BY_ID and dialect.leaves_out_owner_of_id:
        unwanted |= {"subject", "version"}
    if not unwanted and not dialect.leaves_out_avro:
        return None

    def shaped(value: Any) -> Any:
        return [dialect.without(each, unwanted) for each in value] if is_list else dialect.without(value, unwanted)

    return shaped


def _id_alone(value: Document) -> Document:
    return {"id": value["id"]}


NEWEST: Final = ResponseDialect()
"""The dialect that leaves nothing out."""

WITHHOLDING: Final = ResponseDialect(registers_id_alone=True, leaves_out=_NEW_FIELDS, leaves_out_avro=True)
"""The dialect of ``--withhold-new-fields``, for clients that do not declare to tolerate unknown properties."""

_SEVENTH: Final = replace(
    WITHHOLDING, code_by_error={IncompatibleSchema: 409}, absent_paths=_NEW_PATHS, leaves_out_owner_of_id=True
)
_FIFTH: Final = replace(
    _SEVENTH,
    code_by_error={IncompatibleSchema: 409, ConfigNotFound: SubjectNotFound.code, ModeNotFound: SubjectNotFound.code},
)

DIALECT_BY_VERSION: Final = {"8": NEWEST, "7": _SEVENTH, "6": _SEVENTH, "5": _FIFTH}
"""The versions that ``--compat-version`` accepts."""


def tolerates_new_fields(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a request declares that its client ignores unknown properties."""
    return any(name == _TOLERANT and value.strip().lower() == b"true" for name, value in headers)


def is_python(client_version: bytes) -> bool:
    """Return whether a value of :data:`CLIENT_VERSION` is that of Confluent's Python client.

    It reads the ``id`` in the response to a request by id (``use.schema.id``), and caches the response to a
    registration as if it had been requested with ``format=serialized``.
    """
    return client_version[: len(_PYTHON)].lower() == _PYTHON


def comes_from_python(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a request comes from Confluent's Python client."""
    return any(name == CLIENT_VERSION and is_python(value) for name, value in headers)


@dataclass(frozen=True, slots=True)
class Dialects:
    """The dialects of a server: one for all requests, or another one for clients that tolerate new fields."""

    usual: ResponseDialect = NEWEST
    tolerant: ResponseDialect | None = None

    def of(self, *, is_tolerant: bool) -> ResponseDialect:
        """Return the dialect of a request."""
        return self.tolerant if is_tolerant and self.tolerant is not None else self.usual


def choose_dialects(compat_version: str, *, withholds_new_fields: bool) -> Dialects:
    """Return the dialects of a server with these settings."""
    version = DIALECT_BY_VERSION[compat_version]
    if withholds_new_fields and version is NEWEST:
        return Dialects(WITHHOLDING, tolerant=NEWEST)
    return Dialects(version)


# The media types of responses, and those that a body may have.

V1: Final = "application/vnd.schemaregistry.v1+json"

_PRODUCED: Final = ((V1, 1.0), ("application/vnd.schemaregistry+json", 0.9), ("application/json", 0.5))
PRODUCED: Final = tuple(name for name, _ in _PRODUCED)
"""The media types of responses, the preferred one first."""

_CONSUMED: Final = frozenset({*(name for name, _ in _PRODUCED), "application/octet-stream"})


@cached_if_short(256, longest=500)
def negotiate(accept: str) -> str:
    """Return the media type of the response for this ``Accept`` header; raise ``NotAcceptable`` with the possible ones.

    The client's preference counts first, then ours: the versioned type before the plain ones.
    """
    if not accept.strip():
        return V1
    ranges = [_media_range(part) for part in accept.split(",") if part.strip()]
    ranked = [(_quality(name, ranges), weight, name) for name, weight in _PRODUCED]
    quality, _, name = max(ranked)
    if quality <= 0:
        raise NotAcceptable(
            f"None of the accepted types {accept[:200]!r} can be produced; expected one of "
            f"{', '.join(name for name, _ in _PRODUCED)}"
        )
    return name


@cached_if_short(256, longest=500)
def accepts(accept: str, name: str) -> bool:
    """Return whether the ``Accept`` header names exactly this media type."""
    return any(found == name and quality > 0 for found, quality in map(_media_range, accept.split(",")))


def _media_range(part: str) -> tuple[str, float]:
    name, *parameters = (piece.strip() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            try:
                quality = float(value)
            except ValueError:
                quality = 0.0
    return ("*/*" if _is_any_type(name) else name.lower()), quality


def _is_any_type(name: str) -> bool:
    """Return whether the range covers all types: ``*/*``, ``*`` alone, or ``*`` before any subtype.

    Some HTTP libraries write ``*``. Servers on JAX-RS read all three like this
    (``jakarta.ws.rs.core.MediaType.isCompatible``).
    """
    return name.partition("/")[0].strip() == "*"


def _quality(name: str, ranges: list[tuple[str, float]]) -> float:
    """Return the quality of ``name`` in the ``Accept`` header; the most specific range that covers it decides."""
    for wanted in (name, name.split("/", maxsplit=1)[0] + "/*", "*/*"):
        found = [quality for media_range, quality in ranges if media_range == wanted]
        if found:
            return max(found)
    return 0.0


@cached_if_short(256, longest=500)
def check_consumed(content_type: str) -> None:
    """Raise ``UnsupportedMediaType`` if a body of this type is not read; an empty type is accepted."""
    name = content_type.split(";", maxsplit=1)[0].strip().lower()
    if name and name not in _CONSUMED:
        raise UnsupportedMediaType(
            f"The request has the Content-Type {name[:100]!r}, but its body is read as JSON only; send it as "
            f"{' or '.join(PRODUCED)}"
        )


# The errors for callers without a right: what is denied, and what they may do there.

DENIED: Final = "User is denied operation on this server."


class ScopeTooNarrow(Forbidden):
    """The caller would have the right, but the scopes of its token do not include it."""


def denied(
    caller: Caller, operation: AccessOperation, resource: AccessResource, *, named: AccessResource | None = None
) -> Forbidden:
    """Return the error for ``operation``, which ``caller`` may not do to ``resource``.

    ``named`` is the resource that the request names, if it is another one. Who may not do ``operation`` to an alias
    either gets the error for a name that is no alias; to others there is no command that explains the denial, since it
    would show whose alias it is.
    """
    if named is not None and not caller.rights.allows(operation, named):
        resource = named
    command = "" if named not in {None, resource} else _command(caller, operation, resource)
    named = named or resource
    is_allowed = caller.rights.decision(operation, resource).allowed
    kind = ScopeTooNarrow if is_allowed else Forbidden
    if named == REGISTRY:
        return kind(DENIED)
    own = [each.value for each in AccessOperation if caller.rights.allows(each, resource)]
    has = f"may {', '.join(own)} there" if own else "has no rights there"
    return kind(f"User is denied operation {_word(operation)} on {named}; {caller.name} {has}{command}")


def refused_facts(caller: Caller, operation: AccessOperation, resource: AccessResource) -> dict[str, str]:
    """Return the audit's facts about a denial: the operation, the resource, and the rule that decided, if one did.

    If that is a rule for a group of the caller, it is named.
    """
    facts = {"operation": operation.value, "resource": str(resource), **context_facts(resource)}
    decision = caller.rights.decision(operation, resource)
    if decision.allowed or decision.by is None:
        return facts
    principal = decision.by.principal
    group = {"group": principal} if principal.startswith(GROUP) else {}
    return {**facts, "rule": decision.by.source, **group}


def _command(caller: Caller, operation: AccessOperation, resource: AccessResource) -> str:
    """Return the end of a sentence with the command that names the rules; an empty text for an anonymous caller."""
    if not caller.is_member:
        return ""
    words = (caller.name, operation.value, str(pattern_of(resource)))
    return f"; `counterfoil auth can {' '.join(map(shlex.quote, words))}` explains it"


def _word(operation: AccessOperation) -> str:
    """Return the name of an operation as Kafka prints it.

    >>> _word(AccessOperation.ALTER_CONFIGS)
    'AlterConfigs'
    """
    return operation.value.title().replace("_", "")


# Responses: documents become bytes, and errors become bodies and a status.

NO_CONTENT: Final = 204

UNAVAILABLE_HEADERS: Final = {"retry-after": "1"}
"""The headers of every 503: the seconds after which to repeat the request (RFC 9110, section 10.2.3)."""

_NARROW_SCOPE_HEADERS: Final = {"www-authenticate": 'Bearer realm="counterfoil", error="insufficient_scope"'}


MAX_IGNORED: Final = 100
"""At most so many ignored members of a body are looked for."""
_MAX_NAMES: Final = 10
_MAX_NAME: Final = 60
_PLAIN: Final = "!#$&'()*+-./:;<=>?@[]^_`{|}~"
"""What a header of ignored members has as it is, besides letters and digits."""


class RawText(str):
    """A body that is this text itself: a schema's own text, or a JSON text that was printed before."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class AuditedUse:
    """An event of the audit about ``resource``. ``is_required``: without the event the answer must not be sent."""

    kind: EventKind
    resource: AccessResource
    facts: Mapping[str, str] = field(default_factory=dict)
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """A result of an operation with what its route cannot declare, since it depends on what was read.

    ``needs`` is the right of all callers who get the same; ``is_cached`` is False if it depends on more than the route
    declares. The audit records ``events``, and reads of ``texts``: the versions whose texts the response has.
    ``ignored`` are members of the body that have no effect. ``is_long``: it is printed beside the event loop.
    """

    value: object
    needs: Needs | None = None
    is_cached: bool = True
    texts: tuple[tuple[QualifiedSubject, int], ...] = ()
    events: tuple[AuditedUse, ...] = ()
    ignored: tuple[str, ...] = ()
    is_long: bool = False


NOTHING: Final = object()
"""The result of an operation without a body: status 204."""


def answer(value: object, media_type: str, *, status: int = HTTPStatus.OK) -> Response:
    """Return the response for an operation's result: JSON, or the text itself for a :class:`RawText`.

    A result that is a response already gets the media type.
    """
    if value is NOTHING:
        return Response(status_code=NO_CONTENT)
    if isinstance(value, RawText):
        return Response(value.encode(), headers={"content-type": media_type})
    if isinstance(value, Response):
        value.headers["content-type"] = media_type
        return value
    return Response(_json_text(value), status_code=int(status), headers={"content-type": media_type})


def _json_text(value: object) -> bytes:
    """Return a value as JSON; Python's own library prints values that orjson cannot, such as numbers over 64 bits."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def ignored_header(names: Sequence[str]) -> tuple[bytes, bytes]:
    """Return the header that names members of a body that were ignored: the first ones, percent-encoded."""
    shown = [quote(name[:_MAX_NAME], safe=_PLAIN) for name in names[:_MAX_NAMES]]
    if len(names) > _MAX_NAMES:
        shown.append(f"and {len(names) - _MAX_NAMES} more")
    return b"counterfoil-ignored", ", ".join(shown).encode("ascii")


def refusal_link(pages: str, request_id: bytes) -> str:
    """Return the header with the page about a refused registration (RFC 8288); ``pages`` is the path before its id.

    >>> refusal_link("/ui/refusals/", b"a b/c")
    '</ui/refusals/a%20b%2Fc>; rel="describedby"'
    """
    return f'<{pages}{quote(request_id, safe="")}>; rel="describedby"'


def error_document(error: RegistryError) -> dict[str, object]:
    """Return the body of an error."""
    return {"error_code": int(error.code), "message": error.message, **error.details}


def error_answer(error: RegistryError, media_type: str = V1) -> Response:
    """Return the response for an error."""
    headers = {"content-type": media_type}
    if isinstance(error, ScopeTooNarrow):
        headers |= _NARROW_SCOPE_HEADERS
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers |= UNAVAILABLE_HEADERS
    return Response(orjson.dumps(error_document(error)), status_code=int(error.status), headers=headers)
