"""Bodies under ``/auth/v1``, the rights that callers may grant, and the rights that a request needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.routing import Match
from starlette.types import Message

from counterfoil.registry.access.questions import AccessAnswer, InvalidQuestion
from counterfoil.registry.access.records import BINDING, MADE, MADE_BY, SHOWN_TOKEN, AccessBinding, TokenScope
from counterfoil.registry.access.resources import (
    REGISTRY,
    AccessOperation,
    AccessResource,
    ResourceKind,
    allowed_by,
    subject_resource,
)
from counterfoil.registry.access.rules import ANONYMOUS, AccessRule, OperationScope, ResourcePattern
from counterfoil.registry.http.access import On, RequestCaller, request_of
from counterfoil.registry.http.answers import DENIED
from counterfoil.registry.http.request import ApiRequest, rewrite
from counterfoil.registry.http.route import DeclaredRoute
from counterfoil.registry.http.shapes import ANY_OBJECT
from counterfoil.schema.errors import Forbidden, InvalidAccess
from counterfoil.schema.rest.object_forms import (
    INTEGER,
    REQUIRED,
    TEXT,
    TEXTS,
    Document,
    JsonType,
    ListOf,
    Member,
    ObjectForm,
)

# The bodies of requests and responses under ``/auth/v1``.

DEFAULT_DAYS: Final = 90
_MAX_LIST: Final = 1000
_MAX_DAYS: Final = 1_000_000

Text = Annotated[str, Field(max_length=2000)]
Texts = Annotated[list[Text], Field(max_length=_MAX_LIST)]
OneOrMore = Text | Texts


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class QuestionBody(_Body):
    """A question: may somebody do something? Either an operation on a resource, or a request."""

    principal: Text | None = Field(None, description="Default: the caller.")
    groups: Texts = Field(default_factory=list, description="Groups that an issuer names, such as Group:okta:dev.")
    operation: Text | None = None
    resource: Text | None = None
    request: Text | None = Field(None, description="A method and a path, such as PUT /config/orders-value.")


class WhoCanBody(_Body):
    """A question: who may do an operation to a resource?"""

    operation: Text
    resource: Text


class UserBody(_Body):
    """What is to be stored about a user; what is absent stays as it is."""

    password: Text | None = Field(None, repr=False)
    hash: Text | None = Field(
        None, repr=False, description="The hash of a password instead: argon2id, scrypt, bcrypt, PBKDF2."
    )
    disabled: bool | None = None


class ServiceBody(_Body):
    """What is to be stored about a service; what is absent stays as it is."""

    description: Text | None = None
    disabled: bool | None = None


class RoleBody(_Body):
    """The operations of a role."""

    operations: Texts


class ScopeBody(_Body):
    """What a token is limited to: a role or operations, on a pattern of resources."""

    role: Text | None = None
    operations: Texts | None = None
    on: Text

    def scope(self) -> TokenScope:
        """Return the limit."""
        if (self.role is None) == (self.operations is None):
            raise InvalidAccess("A scope has either role or operations")
        return TokenScope((self.role,) if self.role is not None else tuple(self.operations or ()), self.on)


class TokenBody(_Body):
    """A token to be made."""

    owner: Text | None = Field(None, description="A user or a service. Default: the caller.")
    name: Text
    scopes: Annotated[list[ScopeBody], Field(max_length=100)] | None = Field(
        None, description="Default: no limit beside the owner's rights."
    )
    days: int = Field(DEFAULT_DAYS, ge=0, le=_MAX_DAYS, description="How long it lasts.")


class BindingBody(_Body):
    """A rule: who may (allow), or may not (deny), do what to which resources."""

    to: Text
    allow: OneOrMore | None = None
    deny: OneOrMore | None = None
    on: Text

    def binding(self, binding_id: str = "") -> AccessBinding:
        """Return the binding."""
        given = self.deny if self.allow is None else self.allow
        if given is None or (self.allow is not None and self.deny is not None):
            raise InvalidAccess("A binding has either allow or deny")
        words = (given,) if isinstance(given, str) else tuple(given)
        return AccessBinding(binding_id, self.to, self.allow is not None, words, self.on)


@dataclass(frozen=True, slots=True)
class ShownBinding:
    """A binding with its revision, who made it as it is, and when."""

    id: str
    to: str
    on: str
    revision: int
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    maker: str = ""
    made_ts: int | None = None

    @classmethod
    def of(cls, binding: AccessBinding, revision: int) -> ShownBinding:
        """Return a binding with its revision."""
        allow, deny = (binding.operations, ()) if binding.allows else ((), binding.operations)
        return cls(binding.id, binding.principal, binding.on, revision, allow, deny, binding.maker, binding.made_ts)


@dataclass(frozen=True, slots=True)
class MadeToken:
    """A token that was just made; its text is shown once."""

    id: str
    token: str = field(repr=False)
    expires: int


SHOWN_BINDING: Final = ObjectForm(
    ShownBinding,
    (
        *BINDING.members[:1],
        Member("to", "to", TEXT, otherwise=REQUIRED),
        Member("allow", "allow", TEXTS, about="Names of operations or of roles."),
        Member("deny", "deny", TEXTS, about="Names of operations or of roles."),
        Member("on", "on", TEXT, otherwise=REQUIRED),
        Member("revision", "revision", INTEGER, otherwise=REQUIRED, about="For `If-Match`."),
        MADE_BY,
        MADE,
    ),
)
MADE_TOKEN: Final = ObjectForm(
    MadeToken,
    (
        *SHOWN_TOKEN.members[:1],
        Member("token", "token", TEXT, otherwise=REQUIRED, about="What its owner sends. It is shown once."),
        Member("expires", "expires", INTEGER, otherwise=REQUIRED, about="When it ends (epoch ms)."),
    ),
)
SOMEBODY: Final = ANY_OBJECT
"""The answer of ``whoami``: principal, groups, method, and the rights by pattern."""
CALLERS: Final = ListOf(ANY_OBJECT)
"""The answer of ``who-can``: each a principal, and the rule."""
ANSWER: Final[JsonType] = ANY_OBJECT
"""The answer of ``can``: allowed, the rule, and those that came near it."""


def shown_rule(rule: AccessRule | None, text: str) -> Document | None:
    """Return a rule as JSON: its place and its text."""
    return None if rule is None else {"source": rule.source, "text": text}


def shown_answer(answer: AccessAnswer, texts: Any) -> Document:
    """Return an answer as JSON."""
    near = [shown_rule(rule, texts(rule)) for rule in answer.near]
    rule = None if answer.by is None else shown_rule(answer.by, texts(answer.by))
    return {"allowed": answer.allowed, **({} if rule is None else {"rule": rule}), "near": near}


# What callers may grant to others: nothing that they do not have themselves, unless they may change all rules.


def require_administrator(caller: RequestCaller) -> None:
    """Raise ``Forbidden`` unless the caller may change rights."""
    caller.require(AccessOperation.ALTER_ACCESS, REGISTRY)


def permit_rule(caller: RequestCaller, rule: AccessRule) -> None:
    """Raise ``Forbidden`` unless the caller may make ``rule``.

    Who may not change all rules grants operations that it has, on patterns inside one where it may grant, to callers
    with credentials.
    """
    if caller.may(AccessOperation.ALTER_ACCESS, REGISTRY):
        return
    if not rule.allows or rule.principal == ANONYMOUS:
        raise Forbidden(f"{DENIED} A rule that denies, and one for anonymous callers, needs ALTER_ACCESS")
    _require_all(caller, {AccessOperation.GRANT, *rule.affected}, rule.pattern)


def permit_held_rule(caller: RequestCaller, rule: AccessRule) -> None:
    """Raise ``Forbidden``, as for a rule that does not exist, unless the caller may change or delete ``rule``."""
    try:
        permit_rule(caller, rule)
    except Forbidden:
        require_administrator(caller)


def permit_own_scopes(caller: RequestCaller, scopes: Sequence[OperationScope]) -> None:
    """Raise ``Forbidden`` if a scope of the caller's own token has more than the caller."""
    for each in scopes:
        _require_all(caller, allowed_by(each.operations), each.pattern)


def _require_all(caller: RequestCaller, operations: Iterable[AccessOperation], pattern: ResourcePattern) -> None:
    missing = [
        each.value
        for each in operations
        if caller.authenticated is None or not caller.authenticated.rights.holds(each, pattern)
    ]
    if missing:
        raise Forbidden(f"{DENIED} {caller.name} does not have {', '.join(sorted(missing))} on all of {pattern}")


# What a request needs of its caller, found by the table of routes, without carrying the request out.

_BESIDES: Final = "The request also needs rights to what it finds or to what its body names"


class Need(NamedTuple):
    """An operation on a resource; ``shown`` is the resource by the name that whoever asks may know."""

    operation: AccessOperation
    resource: AccessResource
    shown: AccessResource


async def needs_of_request(text: str, request: Request) -> tuple[list[Need], str]:
    """Return the rights that the request ``text`` needs, and a sentence about its other needs.

    ``text`` is a method and a path with its query; ``request`` is the one that asks.
    """
    method, _, target = text.strip().partition(" ")
    path, _, query = target.strip().partition("?")
    if not method.isupper() or not path.startswith("/") or not target.isascii():
        raise InvalidQuestion(f"{text[:80]!r} is no request; expected a method and a path: PUT /config/orders-value")
    path, query = rewrite(path, query, method)
    scope = {
        **request.scope,
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "path_params": {},
    }
    route: DeclaredRoute | None = None
    for each in request.app.router.routes:
        match, found = each.matches(scope)
        if match is Match.FULL:
            route = each
            scope = {**scope, **found}
            break
    if route is None:
        raise InvalidQuestion(f"there is no route for {method} {path[:80]}")
    asked, caller = request_of(scope, _nothing)
    needs = [need for each in route.access.on for need in await _needs(each, asked, caller)]
    return needs, _BESIDES if route.access.asks else ""


async def _needs(on: On, request: ApiRequest, caller: RequestCaller) -> list[Need]:
    resource = await on.scope(request, caller)
    is_hidden = resource.kind is ResourceKind.SUBJECT and not caller.may(AccessOperation.DESCRIBE, resource)
    named = subject_resource(request.scope_subject()) if is_hidden else resource  # not whose alias it is
    flagged = [operation for flag, operation in on.flags if request.flag(flag)]
    return [
        Need(operation, resource if caller.may(operation, named) else named, named)
        for operation in (on.operation, *flagged)
    ]


async def _nothing() -> Message:
    message: Document = {"type": "http.request", "body": b"", "more_body": False}
    return message
