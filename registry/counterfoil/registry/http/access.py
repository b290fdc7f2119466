"""The services of an application, the caller of a request, and the rights that each route needs.

Needs are declared with the route, and checked before and while a request is handled; a route without a declaration
fails when its module is imported. Where no authentication is set up, nothing is checked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Request
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ASGIScope

from counterfoil.registry.access import identity
from counterfoil.registry.access.administration import AccessAdministration
from counterfoil.registry.access.identity import AccessState
from counterfoil.registry.access.resources import (
    REGISTRY,
    AccessOperation,
    AccessResource,
    ResourceKind,
    scope_resource,
    subject_resource,
)
from counterfoil.registry.access.rights import CALLER, Caller, Needs, Shown, Visible, everything
from counterfoil.registry.audit.events import AuditEvent, context_facts
from counterfoil.registry.audit.recording import TRAIL
from counterfoil.registry.changes.feed import ChangeFilter, is_visible
from counterfoil.registry.http.answers import DENIED, Answer, Dialects, denied, error_answer, refused_facts
from counterfoil.registry.http.envelope import REQUEST_ID_KEY
from counterfoil.registry.http.replies import Replies, StaleReads
from counterfoil.registry.http.request import ApiRequest
from counterfoil.registry.store.writes import Author, Requester, RequestTrail
from counterfoil.registry.subjects.compatibility import RefusedVersion
from counterfoil.registry.subjects.levels import alias_target
from counterfoil.registry.subjects.versions import NEXT_VERSION, ReferredTo, SchemaRequest
from counterfoil.registry.telemetry import Counting, Telemetry
from counterfoil.registry.use_cases import UseCases
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.errors import Forbidden, ReferenceExists, RegistryError
from counterfoil.schema.model import Reference
from counterfoil.schema.rest.object_forms import HasJsonSchema


class ServerLifecycle:
    """Whether the server accepts requests; ``stopping`` is set when it begins to stop.

    ``is_open_to_everyone``: other machines reach it, and it demands no credentials. ``access_state`` returns the state
    of its access control, if it demands some.
    """

    def __init__(self) -> None:
        self.stopping = False
        self.is_open_to_everyone = False
        self.access_state: Callable[[], AccessState] | None = None
        self._endings: list[Callable[[], None]] = []

    def at_stop(self, ending: Callable[[], None]) -> None:
        """Register ``ending``, which is called when the server begins to stop.

        It ends the responses that do not end by themselves.
        """
        self._endings.append(ending)

    def stop(self) -> None:
        """Begin to stop."""
        self.stopping = True
        for ending in self._endings:
            ending()


# The services that endpoints of one application use.
#
# The routes are declared once, for all applications of a process.


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases of one application, and the other needs of its endpoints; they find it as ``app.state.services``.

    Responses are in one of ``dialects``; the responses of ``stale`` are sent while the store cannot be reached. With
    ``nothing``, the use cases over an empty store, what a caller may not read is answered as if it were absent.
    ``refusal_pages`` is the path before the request id of the page about a refused registration; empty without pages.
    """

    cases: UseCases
    replies: Replies
    stale: StaleReads
    dialects: Dialects
    max_body_bytes: int
    telemetry: Telemetry
    lifecycle: ServerLifecycle
    counting: Counting
    access: AccessAdministration
    nothing: UseCases | None = None
    refusal_pages: str = ""


def services_of(scope: ASGIScope) -> Services:
    """Return the services of the application that handles a request."""
    services: Services = scope["app"].state.services
    return services


async def _services(request: Request) -> Services:
    return services_of(request.scope)


async def _cases(request: Request) -> UseCases:
    cases: UseCases = request.state.cases
    return cases


ServicesOfApp = Annotated[Services, Depends(_services)]
"""The services of the application, as an endpoint's parameter."""

CasesOfRequest = Annotated[UseCases, Depends(_cases)]
"""The use cases that a validated route's endpoint reads and writes with, as its parameter."""


# The caller of a request: its rights, and what the audit records of it.

_READS: Final = frozenset({AccessOperation.READ, AccessOperation.DESCRIBE})


class RequestCaller:
    """The caller of a request, whom an operation asks about rights.

    ``authenticated`` is None where no authentication is set up: the caller may do everything then. ``has_asked``: the
    operation has asked whether the caller may do something; ``denies_read``: it may not read what the path names.
    """

    __slots__ = ("_scope", "_services", "_trail", "authenticated", "denies_read", "has_asked")

    def __init__(self, scope: ASGIScope, services: Services, authenticated: Caller | None) -> None:
        self._scope = scope
        self._services = services
        self._trail: RequestTrail | None = scope.get(TRAIL)
        self.authenticated = authenticated
        self.has_asked = False
        self.denies_read = False

    @property
    def name(self) -> str:
        """The principal of the caller."""
        return "-" if self.authenticated is None else self.authenticated.name

    @property
    def requester(self) -> Requester:
        """The author of the operation's writes."""
        request_id = self._scope[REQUEST_ID_KEY].decode("latin-1")
        principal = None if self.authenticated is None else self.authenticated.name
        return Requester(Author(principal, request_id if request_id.isprintable() else None), self._trail)

    def restart(self) -> None:
        """Begin another attempt, which asks again."""
        self.has_asked = False
        self.denies_read = False

    def unrestricted(self) -> RequestCaller:
        """Return a caller who may do everything, for an operation over an empty store."""
        return RequestCaller(self._scope, self._services, None)

    # --- what the caller may do

    def may(self, operation: AccessOperation, resource: AccessResource) -> bool:
        """Return whether the caller may do ``operation`` to ``resource``."""
        self.has_asked = True
        return self.authenticated is None or self.authenticated.rights.allows(operation, resource)

    def filters(self) -> None:
        """Declare that the operation leaves out all that the caller may not know, even if there is nothing to ask."""
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
        return everything if self.authenticated is None else self.may_read

    def may_describe(self, subject: QualifiedSubject) -> bool:
        """Return whether the caller may know that a subject exists."""
        return self.may_on(AccessOperation.DESCRIBE, subject)

    def may_know_application(self, name: str) -> bool:
        """Return whether the caller may know that an application exists."""
        return self.may(AccessOperation.DESCRIBE, AccessResource(ResourceKind.APPLICATION, name))

    def may_see_context(self, context: str) -> bool:
        """Return whether the caller has a right on a context, or on a subject in it; the default one is always seen."""
        self.has_asked = True
        known = self.authenticated
        return known is None or context == DEFAULT_CONTEXT or known.rights.sees_context(context)

    def visible(self, operation: AccessOperation) -> Visible | None:
        """Return the subjects that the caller sees in lists; None if it sees all."""
        self.has_asked = True
        known = self.authenticated
        if known is None or (operation is AccessOperation.DESCRIBE and not known.rights.key):
            return None
        return Visible(known.rights, operation)

    def visible_changes(self, wanted: ChangeFilter) -> ChangeFilter:
        """Return the condition ``wanted`` on changes that the caller sees."""
        self.has_asked = True
        known = self.authenticated
        return wanted if known is None else replace(wanted, shows=partial(is_visible, caller=known))

    def needs(self, operation: AccessOperation, subject: QualifiedSubject) -> Needs | None:
        """Return the right to do ``operation`` to ``subject``; None where no authentication is set up."""
        return None if self.authenticated is None else Needs.of(operation, subject_resource(subject))

    # --- what the caller must have the right to

    def require_member(self) -> None:
        """Raise ``Forbidden`` unless the caller has proven who it is."""
        if self.authenticated is not None and not self.authenticated.is_member:
            self._services.telemetry.access.denials[identity.MEMBER] += 1
            raise Forbidden(DENIED)

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
        """Raise ``Forbidden`` unless the caller may read the subjects that an alias would have."""
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
        """Whether denied reads are answered as if the resource were absent."""
        return self._services.nothing is not None

    # --- errors

    def unknown(self, absent: RegistryError | None) -> RegistryError:
        """Return the error about a resource that the caller may not know.

        It is ``absent`` where denied reads are answered as reads of nothing, elsewhere ``Forbidden`` without a name.
        """
        return absent if self._hides_denials and absent is not None else Forbidden(DENIED)

    def denial(
        self, operation: AccessOperation, resource: AccessResource | None = None, *, named: AccessResource | None = None
    ) -> Forbidden:
        """Return the error for an operation that the caller may not do to ``resource``, or to things without a name.

        ``named`` is the resource that the request names, if it is another one than ``resource``.
        """
        self.denies_read = operation in _READS and resource != REGISTRY
        return self._denial(operation, resource, named=named)

    def denial_of(self, operation: AccessOperation, subject: QualifiedSubject, *, named: QualifiedSubject) -> Forbidden:
        """Return the error for ``subject``, which the path names by its own name, or by the alias ``named``."""
        return self.denial(operation, subject_resource(subject), named=subject_resource(named))

    def _denial(
        self, operation: AccessOperation, resource: AccessResource | None, *, named: AccessResource | None = None
    ) -> Forbidden:
        self._services.telemetry.access.denials[operation.value] += 1
        if self._trail is not None:
            self._trail.is_denied = True
        if self.authenticated is None or resource is None:
            return Forbidden(DENIED)
        if self._trail is not None:
            self._trail.refused = refused_facts(self.authenticated, operation, named or resource)
        return denied(self.authenticated, operation, resource, named=named)

    def shown_error(self, error: RegistryError) -> RegistryError:
        """Return ``error`` without the names of subjects and applications that the caller may not know."""
        if isinstance(error, RefusedVersion):
            return error.shown_to(self.may_know_application)
        if not isinstance(error, ReferredTo) or self.may_describe(error.by):
            return error
        return ReferenceExists(f"{error.referred} is referred to by a schema that {self.name} may not see")

    # --- the audit

    @property
    def watched(self) -> Shown | None:
        """The function that says whether reads of a subject are recorded; None if no reads are."""
        return None if self._trail is None else self._trail.log.watches

    def record(self, answer: Answer) -> bool:
        """Record the audit's facts of ``answer``; return False if reads of it are, so that it is not cached.

        Raise ``StoreUnavailable`` if something must be recorded and cannot be.
        """
        trail = self._trail
        if trail is None:
            return True
        for each in answer.events:
            if each.is_required:
                trail.require_recording()
            own = {"resource": str(each.resource), **context_facts(each.resource), "outcome": "success"}
            trail.events.append(AuditEvent(each.kind, {**trail.facts(), **own, **each.facts}))
        watches = trail.log.watches
        trail.reads = {} if watches is None else {each: None for each in answer.texts if watches(each[0])}
        return not trail.reads


async def _caller(request: Request) -> RequestCaller:
    caller: RequestCaller = request.state.caller
    return caller


CallerOfRequest = Annotated[RequestCaller, Depends(_caller)]
"""The caller whom a validated route's endpoint asks about rights, as its parameter."""


# What a route needs of its caller.

Scope: TypeAlias = "Callable[[ApiRequest, RequestCaller], Awaitable[AccessResource]]"
"""Returns the resource that a request is about: that which is served, after aliases."""


@dataclass(frozen=True, slots=True)
class On:
    """A need: ``operation`` on the resource that ``scope`` finds in the request.

    ``flags`` are parameters of the query with a further operation that the request needs where they are true.
    """

    operation: AccessOperation
    scope: Scope
    flags: tuple[tuple[str, AccessOperation], ...] = ()

    async def check(self, request: ApiRequest, caller: RequestCaller) -> AccessResource:
        """Return the resource; raise ``Forbidden`` unless the caller has the rights that the request needs."""
        resource = await self.scope(request, caller)
        flagged = (operation for flag, operation in self.flags if request.flag(flag))
        for operation in (self.operation, *flagged):
            if not caller.may(operation, resource):
                named = subject_resource(request.scope_subject()) if resource.kind is ResourceKind.SUBJECT else resource
                raise caller.denial(operation, resource, named=named)
        return resource


@dataclass(frozen=True, slots=True)
class Access:
    """The needs of one route.

    ``on`` are checked before the body is read. ``asks``: the operation itself asks its ``RequestCaller`` about the
    rights to what it finds or reads in the body; if it ends without having asked, its result is not sent.
    ``is_open``: no credentials are needed. With none of these every caller with credentials is served.
    """

    on: tuple[On, ...] = ()
    asks: bool = False
    is_open: bool = False

    def __and__(self, other: Access) -> Access:
        """Return the needs of both."""
        return replace(self, on=(*self.on, *other.on), asks=self.asks or other.asks)

    async def check(self, request: ApiRequest, caller: RequestCaller) -> Needs | None:
        """Raise ``Forbidden`` unless the caller has the rights that are needed before the body is read.

        Return the right of all callers who get the same response, if that is decided by it alone.
        """
        if not (self.on or self.asks or self.is_open):
            caller.require_member()
        needs = None
        for each in self.on:
            resource = await each.check(request, caller)
            if len(self.on) == 1 and not self.asks:
                needs = Needs.of(each.operation, resource)
        return needs


OPEN: Final = Access(is_open=True)
"""Without credentials."""

MEMBER: Final = Access()
"""Every caller with credentials."""

FOUND: Final = Access(asks=True)
"""The operation asks about what it finds: ids, lists, events."""

FROM_BODY: Final = Access(asks=True)
"""The operation asks about what the body names."""


def on(operation: AccessOperation, scope: Scope, /, **flags: AccessOperation) -> Access:
    """Return the need of ``operation`` on the resource that ``scope`` finds; ``flags`` are the needs of parameters."""
    return Access(on=(On(operation, scope, tuple(flags.items())),))


def request_of(
    scope: ASGIScope, receive: Receive, *, form: HasJsonSchema | None = None
) -> tuple[ApiRequest, RequestCaller]:
    """Return the request in a scope, with the use cases of its application, and its caller."""
    services = services_of(scope)
    request = ApiRequest(scope, receive, services.cases, max_body_bytes=services.max_body_bytes, form=form)
    return request, RequestCaller(scope, services, scope.get(CALLER))


def guarded(app: ASGIApp, access: Access) -> ASGIApp:
    """Return ``app``, which answers only callers with the rights in ``access``, for a route outside the API."""

    async def checked(scope: ASGIScope, receive: Receive, send: Send) -> None:
        if CALLER in scope:
            try:
                await access.check(*request_of(scope, receive))
            except RegistryError as error:
                await error_answer(error)(scope, receive, send)
                return
        await app(scope, receive, send)

    return checked


# --- what requests are about


async def the_registry(_: ApiRequest, __: RequestCaller) -> AccessResource:
    """Return the registry."""
    return REGISTRY


async def the_subject(request: ApiRequest, _: RequestCaller) -> AccessResource:
    """Return the subject in the path, or the one whose alias it is."""
    return subject_resource(await request.subject())


async def the_scope(request: ApiRequest, _: RequestCaller) -> AccessResource:
    """Return the subject or context in the path, whose settings they are; the top level is the registry."""
    return scope_resource(request.scope_subject())


async def the_context(request: ApiRequest, _: RequestCaller) -> AccessResource:
    """Return the context in the path."""
    return AccessResource(ResourceKind.CONTEXT, context=parse_subject(request.segment("context")).context)


async def the_subject_of_keys(request: ApiRequest, _: RequestCaller) -> AccessResource:
    """Return the subject in the path of a key, or the one whose alias it is for keys."""
    return subject_resource(await request.cases.scopes.aliased_for_keys(request.scope_subject()))


def the(kind: ResourceKind, segment: str) -> Scope:
    """Return the scope that is the resource of a kind which a segment of the path names."""

    async def scope(request: ApiRequest, _: RequestCaller) -> AccessResource:
        return AccessResource(kind, request.segment(segment))

    scope.__doc__ = f"Return the {kind.value} in the path."
    return scope
