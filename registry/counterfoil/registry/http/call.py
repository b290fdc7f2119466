"""One request as the operations use it: path, query and body, parsed by the rules of Confluent's API."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs

from starlette.requests import Request

from counterfoil.registry.access.counting import MEMBER
from counterfoil.registry.access.resources import (
    REGISTRY,
    AccessOperation,
    AccessResource,
    ResourceKind,
    subject_resource,
)
from counterfoil.registry.access.rights import CALLER, EVERY_CALLER, Needs, Visible, everything
from counterfoil.registry.audit.events import AuditEvent, context_facts
from counterfoil.registry.audit.trail import TRAIL
from counterfoil.registry.changes.feed import is_visible
from counterfoil.registry.http.answers import DENIED, MAX_IGNORED, denied, refused_facts
from counterfoil.registry.http.bodies import parse_json, read_body
from counterfoil.registry.http.dialects import comes_from_python
from counterfoil.registry.http.envelope import REQUEST_ID_KEY
from counterfoil.registry.http.paths import decode_segment
from counterfoil.registry.http.replies import (
    LISTED_BY_RIGHTS,
    MAX_KEPT_BODY_BYTES,
    CachedReply,
    EveryWrite,
    request_key,
)
from counterfoil.registry.store.writes import Author, Requester
from counterfoil.registry.subjects.compatibility import RefusedVersion
from counterfoil.registry.subjects.levels import alias_target
from counterfoil.registry.subjects.versions import NEXT_VERSION, ReferredTo
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.errors import Forbidden, NotFound, ReferenceExists, RegistryError
from counterfoil.schema.rest.object_forms import unknown_members

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.types import Receive, Scope

    from counterfoil.registry.access.rights import Caller, Shown
    from counterfoil.registry.audit.events import EventKind
    from counterfoil.registry.changes.feed import ChangeFilter
    from counterfoil.registry.http.replies import Basis, Ground, Replies
    from counterfoil.registry.store.writes import RequestTrail
    from counterfoil.registry.subjects.versions import SchemaRequest
    from counterfoil.registry.telemetry import Telemetry
    from counterfoil.registry.use_cases import UseCases
    from counterfoil.schema.model import Reference
    from counterfoil.schema.rest.object_forms import HasJsonSchema


_MAX_INT = 2**31 - 1
_MAX_DIGITS = 10
_READS = frozenset({AccessOperation.READ, AccessOperation.DESCRIBE})


def parse_integer(text: str, what: str) -> int:
    """Return ``text`` as an integer of 32 bits, as this API reads paths and queries; raise ``NotFound`` otherwise."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) <= _MAX_DIGITS:
        number = int(text)
        if -_MAX_INT - 1 <= number <= _MAX_INT:
            return number
    raise NotFound(f"{what} is {text[:80]!r}; expected an integer of 32 bits")


class _ReadRequest(Request):
    """A request whose body has been read already: within the size limit, and as JSON whatever its ``Content-Type``."""

    def __init__(self, scope: Scope, body: bytes) -> None:
        super().__init__({**scope, "headers": [(b"content-type", b"application/json"), *scope["headers"]]})
        self._bytes, self._value = body, parse_json(body)

    async def body(self) -> bytes:
        """Return the body's bytes."""
        return self._bytes

    async def json(self) -> Any:
        """Return the body's JSON value."""
        return self._value


class CallServices(Protocol):
    """What a request uses of the services of its application, :class:`~counterfoil.registry.http.services.Services`."""

    @property
    def cases(self) -> UseCases:
        """The use cases over the application's store."""

    @property
    def nothing(self) -> UseCases | None:
        """The use cases over an empty store, where what a caller may not read is answered as if it were absent."""

    @property
    def replies(self) -> Replies:
        """The cached responses."""

    @property
    def max_body_bytes(self) -> int:
        """The size of the largest body that is read."""

    @property
    def telemetry(self) -> Telemetry:
        """The counters of requests and denials."""


class CachedRoute(Protocol):
    """What a cached response says of its route."""

    @property
    def path_format(self) -> str:
        """The path with the names of its parameters."""

    @property
    def may_be_stale(self) -> bool:
        """Whether the response may be sent while the store cannot be reached."""


class ApiCall:
    """A request that an operation handles, and the use cases ``cases`` that it calls.

    The response is cached for the fast lane if the operation declares what it depends on. ``is_python``: the request
    comes from Confluent's Python client. ``caller`` is None where no authentication is set up: it may do everything.
    ``has_asked``: the operation has asked whether the caller may do something; ``denies_read``: the caller may not read
    what the path names. ``form`` is the form of the body, and ``ignored`` are the members of a body that it does not
    have: they are ignored, as by other registries, and a header names them.
    """

    __slots__ = (
        "_basis",
        "_body",
        "_max_body_bytes",
        "_needs",
        "_query",
        "_receive",
        "_replies",
        "_scope",
        "_services",
        "_telemetry",
        "caller",
        "cases",
        "denies_read",
        "form",
        "has_asked",
        "ignored",
        "is_python",
    )

    def __init__(self, scope: Scope, receive: Receive, services: CallServices) -> None:
        self._scope = scope
        self._receive = receive
        self._query: dict[str, list[str]] | None = None
        self._body: bytes | None = None
        self._max_body_bytes = services.max_body_bytes
        self._replies = services.replies
        self._telemetry = services.telemetry
        self._basis: Basis | None = None
        self.cases: UseCases = services.cases
        self.is_python = comes_from_python(scope["headers"])
        self.caller: Caller | None = scope.get(CALLER)
        self.has_asked = False
        self.denies_read = False
        self.form: HasJsonSchema | None = None
        self.ignored: tuple[str, ...] = ()
        self._needs: Needs | None = None
        self._services = services

    async def request(self, *, has_body: bool) -> Request:
        """Return the request for FastAPI, with the use cases of this call for its endpoint; the body has been read."""
        request = _ReadRequest(self._scope, await self.raw_body()) if has_body else Request(self._scope)
        request.state.cases = self.cases
        request.state.call = self
        return request

    # --- rights

    def may(self, operation: AccessOperation, resource: AccessResource) -> bool:
        """Return whether the caller may do ``operation`` to ``resource``."""
        self.has_asked = True
        return self.caller is None or self.caller.rights.allows(operation, resource)

    def restart(self) -> None:
        """Forget what an earlier attempt of the operation has asked and declared."""
        if self._trail is not None:
            self._trail.reads.clear()
        self.has_asked = False
        self.denies_read = False
        self._needs = None

    def over_nothing(self, nothing: UseCases) -> None:
        """Continue as if nothing were stored, for a caller who may read nothing of what the path names."""
        self.caller, self.cases = None, nothing

    def asks(self) -> None:
        """Declare that the operation leaves out what the caller may not know, even if there is nothing to ask about."""
        self.has_asked = True

    def may_on(self, operation: AccessOperation, subject: QualifiedSubject) -> bool:
        """Return whether the caller may do ``operation`` to a subject, or to a context."""
        return self.may(operation, subject_resource(subject))

    def may_read(self, subject: QualifiedSubject) -> bool:
        """Return whether the caller may read a subject."""
        return self.may_on(AccessOperation.READ, subject)

    @property
    def readable(self) -> Shown:
        """The function :meth:`may_read`, or one that asks nothing where no authentication is set up."""
        return everything if self.caller is None else self.may_read

    def may_describe(self, subject: QualifiedSubject) -> bool:
        """Return whether the caller may know that a subject exists."""
        return self.may_on(AccessOperation.DESCRIBE, subject)

    def may_know_application(self, name: str) -> bool:
        """Return whether the caller may know that an application exists."""
        return self.may(AccessOperation.DESCRIBE, AccessResource(ResourceKind.APPLICATION, name))

    def may_see_context(self, context: str) -> bool:
        """Return whether the caller has a right on a context, or on a subject in it; the default one is always seen."""
        self.has_asked = True
        return self.caller is None or context == DEFAULT_CONTEXT or self.caller.rights.sees_context(context)

    def visible(self, operation: AccessOperation) -> Visible | None:
        """Return the subjects that the caller sees in lists; None if it sees all."""
        self.has_asked = True
        if self.caller is None or (operation is AccessOperation.DESCRIBE and not self.caller.rights.key):
            return None
        return Visible(self.caller.rights, operation)

    def visible_changes(self, wanted: ChangeFilter) -> ChangeFilter:
        """Return the condition ``wanted`` on changes that the caller sees."""
        self.has_asked = True
        return wanted if self.caller is None else replace(wanted, shows=partial(is_visible, caller=self.caller))

    def require_references(self, subject: QualifiedSubject, references: Sequence[Reference]) -> None:
        """Raise ``Forbidden`` unless the caller may read all that a schema of ``subject`` would refer to."""
        self.has_asked = True
        for each in references:
            self.require_on(AccessOperation.READ, parse_subject(each.subject, context=subject.context))

    def require_registration(self, subject: QualifiedSubject, request: SchemaRequest) -> None:
        """Raise ``Forbidden`` unless the caller may register ``request``, whose subject it may write."""
        self.require_references(subject, request.references)
        if not {request.schema_id, request.version} <= {None, NEXT_VERSION}:
            self.require_on(AccessOperation.IMPORT, subject)

    def require_targets(self, scope: QualifiedSubject, aliases: Iterable[str | None]) -> None:
        """Raise ``Forbidden`` unless the caller may read the subjects that would be those of an alias."""
        self.has_asked = True
        for alias in aliases:
            if alias:
                self.require_on(AccessOperation.READ, alias_target(alias, scope))

    def require_on(self, operation: AccessOperation, subject: QualifiedSubject) -> None:
        """Raise ``Forbidden`` unless the caller may do ``operation`` to a subject, or to a context."""
        self.require(operation, subject_resource(subject))

    def require(self, operation: AccessOperation, resource: AccessResource) -> None:
        """Raise ``Forbidden`` unless the caller may do ``operation`` to ``resource``."""
        if not self.may(operation, resource):
            raise self._denial(operation, resource)

    def require_found(
        self, operation: AccessOperation, resource: AccessResource, *, absent: RegistryError | None = None
    ) -> None:
        """Raise an error unless the caller may do ``operation`` to ``resource``, which the request does not name.

        ``Forbidden`` names it to those alone who may know it. Where denied reads are answered as what is absent, the
        error is ``absent``, which is that of a request for what does not exist; None for a request that would make it.
        """
        if self.may(operation, resource):
            return
        error = self._denial(operation, resource)
        is_known = self.may(AccessOperation.DESCRIBE, resource)
        if is_known and not (self._hides_denials and operation in _READS):
            raise error
        raise self.unknown(absent)

    @property
    def _hides_denials(self) -> bool:
        """Whether denied reads are answered as what is absent."""
        return self._services.nothing is not None

    def unknown(self, absent: RegistryError | None) -> RegistryError:
        """Return the error about what the request leads to and the caller may not know.

        It is ``absent`` where denied reads are answered as what is absent, and ``Forbidden`` without a name elsewhere.
        """
        return absent if self._hides_denials and absent is not None else Forbidden(DENIED)

    @property
    def requester(self) -> Requester:
        """The requester of what the operation writes."""
        request_id = self._scope[REQUEST_ID_KEY].decode("latin-1")
        principal = None if self.caller is None else self.caller.name
        return Requester(Author(principal, request_id if request_id.isprintable() else None), self._trail)

    @property
    def _trail(self) -> RequestTrail | None:
        found: RequestTrail | None = self._scope.get(TRAIL)
        return found

    def records(self, kind: EventKind, resource: AccessResource, **facts: str) -> None:
        """Have an event recorded, if the audit is on; raise ``StoreUnavailable`` if it cannot be and has to be."""
        if self._trail is not None:
            self._trail.require_recording()
        self.notes(kind, resource, **facts)

    def notes(self, kind: EventKind, resource: AccessResource, **facts: str) -> None:
        """Have an event recorded, if the audit is on and can be written."""
        trail = self._trail
        if trail is not None:
            own = {"resource": str(resource), **context_facts(resource), "outcome": "success"}
            trail.events.append(AuditEvent(kind, {**trail.facts(), **own, **facts}))

    @property
    def watched(self) -> Shown | None:
        """The function that says whether reads of a subject are recorded; None if no reads are."""
        trail = self._trail
        return None if trail is None else trail.log.watches

    def gives(self, subject: QualifiedSubject, version: int) -> None:
        """Note that the response has the text of a version; it is recorded, and not cached, if the settings say so."""
        trail = self._trail
        if trail is not None and trail.log.watches is not None and trail.log.watches(subject):
            trail.reads[subject, version] = None
            self.rests_on_more()

    @property
    def caller_name(self) -> str:
        """The principal of the caller."""
        return "-" if self.caller is None else self.caller.name

    def require_member(self) -> None:
        """Raise ``Forbidden`` unless the caller has proven who it is."""
        if self.caller is not None and not self.caller.is_member:
            self._telemetry.access.denials[MEMBER] += 1
            raise Forbidden(DENIED)

    def denial(
        self, operation: AccessOperation, resource: AccessResource | None = None, *, named: AccessResource | None = None
    ) -> Forbidden:
        """Return the error for what the caller may not do, to ``resource`` in the path or to things that have no name.

        ``named`` is what the request names, if it is something else than ``resource``.
        """
        self.denies_read = operation in _READS and resource != REGISTRY
        return self._denial(operation, resource, named=named)

    def _denial(
        self, operation: AccessOperation, resource: AccessResource | None, *, named: AccessResource | None = None
    ) -> Forbidden:
        self._telemetry.access.denials[operation.value] += 1
        trail = self._trail
        if trail is not None:
            trail.is_denied = True
        if self.caller is None or resource is None:
            return Forbidden(DENIED)
        if trail is not None:
            trail.refused = refused_facts(self.caller, operation, named or resource)
        return denied(self.caller, operation, resource, named=named)

    def denial_in_path(self, operation: AccessOperation, subject: QualifiedSubject) -> Forbidden:
        """Return the error for ``subject``, which the path names by its own name, or by an alias."""
        named = subject_resource(self.scope_subject())
        return self.denial(operation, subject_resource(subject), named=named)

    # --- path

    def segment(self, name: str) -> str:
        """Return a path parameter, decoded; an empty text if the path has none of this name."""
        return decode_segment(self._scope["path_params"].get(name, ""))

    def integer_segment(self, name: str) -> int:
        """Return a path parameter that is a number."""
        return parse_integer(self.segment(name), name)

    def scope_subject(self) -> QualifiedSubject:
        """Return the subject or context in the path, without resolving an alias."""
        return parse_subject(self.segment("subject"))

    async def subject(self) -> QualifiedSubject:
        """Return the subject in the path, or the one whose alias it is."""
        return await self.cases.scopes.aliased(self.scope_subject())

    async def lasting_subject(self) -> QualifiedSubject:
        """Return :meth:`subject`; the response depends on the subjects of its name, in all contexts."""
        if self.has_query:
            return await self.subject()
        epoch = self._replies.epoch
        subject = await self.subject()
        self._basis = self._replies.basis(subject.name, epoch)
        return subject

    async def subject_parameter(self) -> str:
        """Return the query's ``subject``, or the one whose alias it is; an empty text if there is none."""
        text = self.text("subject")
        return str(await self.cases.scopes.aliased(parse_subject(text))) if text else ""

    # --- what the response depends on

    def rests_on(self, ground: Ground = EveryWrite) -> None:
        """Declare what the response depends on, before anything is read."""
        if not self.has_query:
            self._basis = self._replies.basis(ground, self._replies.epoch)

    def rests_on_more(self) -> None:
        """Declare that the response depends on more than was declared, so that it is not cached."""
        self._basis = None

    def shown_error(self, error: RegistryError) -> RegistryError:
        """Return ``error`` without the names of subjects and applications that the caller may not know."""
        if isinstance(error, RefusedVersion):
            return error.shown_to(self.may_know_application)
        if not isinstance(error, ReferredTo) or self.may_describe(error.by):
            return error
        return ReferenceExists(f"{error.referred} is referred to by a schema that {self.caller_name} may not see")

    def kept_for(self, operation: AccessOperation, resource: AccessResource) -> None:
        """Declare that the response is the same for all callers who may do ``operation`` to ``resource``."""
        if self.caller is not None:
            self._needs = Needs.of(operation, resource)

    def kept_for_subject(self, operation: AccessOperation, subject: QualifiedSubject) -> None:
        """Declare :meth:`kept_for` a subject."""
        if self.caller is not None:
            self.kept_for(operation, subject_resource(subject))

    def kept_for_same_rights(self) -> None:
        """Declare that the response is the same for all callers with equal rules."""
        if self.caller is not None:
            self._needs = EVERY_CALLER

    def keep(self, answer: bytes, route: CachedRoute, *, tag: bytes = b"", is_tolerant: bool = False) -> None:
        """Cache the response, if the operation has declared what it depends on."""
        if self._basis is None or len(self._body or b"") > MAX_KEPT_BODY_BYTES:
            return
        if self.caller is not None and self._needs is None:
            return
        path = self._scope["raw_path"]
        key = request_key(path, self._body, is_tolerant=is_tolerant, is_python=self.is_python)
        if path == LISTED_BY_RIGHTS and self.caller is not None:
            key += self.caller.rights.key
        self._replies.put(
            key, CachedReply(answer, route.path_format, self._basis, tag, route.may_be_stale, needs=self._needs)
        )

    # --- query

    @property
    def has_query(self) -> bool:
        """Whether the request has a query at all."""
        return bool(self._scope["query_string"])

    def texts(self, name: str) -> Sequence[str]:
        """Return all values of a query parameter."""
        if self._query is None:
            query = self._scope["query_string"].decode("latin-1")
            self._query = parse_qs(query, keep_blank_values=True, errors="replace") if query else {}
        return self._query.get(name, ())

    def text(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        return next(iter(self.texts(name)), default)

    def flag(self, name: str) -> bool:
        """Return whether a query parameter is ``true`` in any letter case; anything else is false."""
        return self.text(name).lower() == "true"

    def integer(self, name: str, default: int) -> int:
        """Return a query parameter that is a number; an empty one counts as absent."""
        text = self.text(name)
        return parse_integer(text, name) if text else default

    def bounds(self, *, default_limit: int = _MAX_INT) -> tuple[int, int]:
        """Return the start and end index of ``offset`` and ``limit``; a limit out of range is the default."""
        offset = max(self.integer("offset", 0), 0)
        limit = self.integer("limit", -1)
        return offset, offset + (limit if 0 < limit <= default_limit else default_limit)

    # --- body

    async def json(self) -> Any:
        """Return the body's JSON value; members that the route's body does not have become :attr:`ignored`."""
        value = parse_json(await self.raw_body())
        if self.form is not None and isinstance(value, dict | list):
            self.ignored = tuple(islice(unknown_members(value, self.form), MAX_IGNORED))
        return value

    async def raw_body(self) -> bytes:
        """Return the body's bytes; they are received once, since an operation that is repeated reads them again."""
        if self._body is None:
            self._body = await read_body(self._receive, max_bytes=self._max_body_bytes)
        return self._body
