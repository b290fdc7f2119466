"""What each route needs of its caller: declared with the route, checked before and while a request is handled.

Every route has such a declaration: one without it fails when its module is imported. Where no authentication is set
up, nothing is checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.registry.access.resources import (
    REGISTRY,
    AccessResource,
    ResourceKind,
    scope_resource,
    subject_resource,
)
from counterfoil.registry.access.rights import CALLER
from counterfoil.registry.http.answers import error_answer
from counterfoil.registry.http.call import ApiCall
from counterfoil.registry.http.services import services_of
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as ASGIScope

    from counterfoil.registry.access.resources import AccessOperation


Scope: TypeAlias = "Callable[[ApiCall], Awaitable[AccessResource]]"
"""Returns the resource that a request is about: that which is served, after aliases."""


@dataclass(frozen=True, slots=True)
class On:
    """A need: ``operation`` on the resource that ``scope`` finds in the request.

    ``flags`` are parameters of the query with a further operation that the request needs where they are true.
    """

    operation: AccessOperation
    scope: Scope
    flags: tuple[tuple[str, AccessOperation], ...] = ()

    async def check(self, call: ApiCall) -> AccessResource:
        """Return the resource; raise ``Forbidden`` unless the caller has what the request needs."""
        resource = await self.scope(call)
        flagged = (operation for flag, operation in self.flags if call.flag(flag))
        for operation in (self.operation, *flagged):
            if not call.may(operation, resource):
                named = subject_resource(call.scope_subject()) if resource.kind is ResourceKind.SUBJECT else resource
                raise call.denial(operation, resource, named=named)
        return resource


@dataclass(frozen=True, slots=True)
class Access:
    """The needs of one route.

    ``on`` are checked before the body is read. ``asks``: the operation itself asks its ``ApiCall`` about the rights to
    what it finds or reads in the body; if it ends without having asked, its result is not sent. ``is_open``: no
    credentials are needed. With none of these every caller with credentials is served.
    """

    on: tuple[On, ...] = ()
    asks: bool = False
    is_open: bool = False

    def __and__(self, other: Access) -> Access:
        """Return the needs of both."""
        return replace(self, on=(*self.on, *other.on), asks=self.asks or other.asks)

    async def check(self, call: ApiCall) -> None:
        """Raise ``Forbidden`` unless the caller has what the request needs before its body is read."""
        if not (self.on or self.asks or self.is_open):
            call.require_member()
        for each in self.on:
            resource = await each.check(call)
            if len(self.on) == 1 and not self.asks:
                call.kept_for(each.operation, resource)


OPEN: Final = Access(is_open=True)
"""Without credentials."""

MEMBER: Final = Access()
"""Every caller with credentials."""

FOUND: Final = Access(asks=True)
"""The operation asks about what it finds: ids, lists, events."""

FROM_BODY: Final = Access(asks=True)
"""The operation asks about what the body names."""


def on(operation: AccessOperation, scope: Scope, /, **flags: AccessOperation) -> Access:
    """Return the need of ``operation`` on what ``scope`` finds; ``flags`` are what parameters of the query need."""
    return Access(on=(On(operation, scope, tuple(flags.items())),))


def guarded(app: ASGIApp, access: Access) -> ASGIApp:
    """Return ``app``, which answers only callers who have what ``access`` says, for a route outside the API."""

    async def answer(scope: ASGIScope, receive: Receive, send: Send) -> None:
        if CALLER in scope:
            try:
                await access.check(ApiCall(scope, receive, services_of(scope)))
            except RegistryError as error:
                await error_answer(error)(scope, receive, send)
                return
        await app(scope, receive, send)

    return answer


# --- what requests are about


async def the_registry(_: ApiCall) -> AccessResource:
    """Return the registry."""
    return REGISTRY


async def the_subject(call: ApiCall) -> AccessResource:
    """Return the subject in the path, or the one whose alias it is."""
    return subject_resource(await call.subject())


async def the_scope(call: ApiCall) -> AccessResource:
    """Return the subject or context in the path, whose settings they are; those of the top level are the registry's."""
    return scope_resource(call.scope_subject())


async def the_context(call: ApiCall) -> AccessResource:
    """Return the context in the path."""
    return AccessResource(ResourceKind.CONTEXT, context=parse_subject(call.segment("context")).context)


async def the_subject_of_keys(call: ApiCall) -> AccessResource:
    """Return the subject in the path of a key, or the one whose alias it is for keys."""
    return subject_resource(await call.cases.scopes.aliased_for_keys(call.scope_subject()))


def the(kind: ResourceKind, segment: str) -> Scope:
    """Return the scope that is the resource of a kind which a segment of the path names."""

    async def scope(call: ApiCall) -> AccessResource:
        return AccessResource(kind, call.segment(segment))

    scope.__doc__ = f"Return the {kind.value} in the path."
    return scope
