"""The routes under ``/auth/v1``, and their endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Final

from fastapi import Depends, Header, Path, Request

from counterfoil.registry.access.administration import AccessAdministration, TokenRequest
from counterfoil.registry.access.bodies import (
    ANSWER,
    CALLERS,
    MADE_TOKEN,
    SHOWN_BINDING,
    SOMEBODY,
    BindingBody,
    MadeToken,
    Need,
    QuestionBody,
    RoleBody,
    ServiceBody,
    ShownBinding,
    TokenBody,
    UserBody,
    WhoCanBody,
    needs_of_request,
    permit_held_rule,
    permit_own_scopes,
    permit_rule,
    require_administrator,
    shown_answer,
    shown_rule,
)
from counterfoil.registry.access.questions import (
    AccessAnswer,
    InvalidQuestion,
    may,
    parse_operation,
    parse_principal,
    parse_resource,
    who_can,
)
from counterfoil.registry.access.records import ROLE, SERVICE_FORM, SHOWN_TOKEN, SHOWN_USER, AccessRole, StoredAccess
from counterfoil.registry.access.resources import REGISTRY, ROLES, AccessOperation, allowed_by
from counterfoil.registry.access.rules import ANONYMOUS, USER, AccessRule, OperationScope, rule_text
from counterfoil.registry.http.access import (
    FROM_BODY,
    MEMBER,
    CallerOfRequest,
    RequestCaller,
    ServicesOfApp,
    on,
    the_registry,
)
from counterfoil.registry.http.request import decode_segment
from counterfoil.registry.http.route import ValidatedRoute
from counterfoil.schema import errors
from counterfoil.schema.errors import AccessRecordNotFound, BadRequest, Forbidden, InvalidAccess
from counterfoil.schema.rest.object_forms import Document, ListOf

# The endpoints under ``/auth/v1``.

_MAX_DIGITS = 18
_PASSWORD = "password"  # noqa: S105  the name of a method


async def _administration(services: ServicesOfApp, caller: CallerOfRequest) -> AccessAdministration:
    caller.filters()
    if caller.authenticated is None:
        raise AccessRecordNotFound(
            "No authentication is set up here; start the server with --auth-file, or run `counterfoil auth init`"
        )
    return services.access


async def _if_match(
    if_match: Annotated[str | None, Header(description="The revision that the binding must have.")] = None,
) -> int | None:
    text = (if_match or "*").strip().strip('"')
    if text == "*":
        return None
    if not text.isascii() or not text.isdigit() or len(text) > _MAX_DIGITS:
        raise BadRequest(f"If-Match is {text[:80]!r}; expected the revision of the binding")
    return int(text)


Administration = Annotated[AccessAdministration, Depends(_administration)]
Revision = Annotated[int | None, Depends(_if_match)]


async def _name(name: Annotated[str, Path()]) -> str:
    return decode_segment(name)


Name = Annotated[str, Depends(_name)]


# --- the caller


async def get_whoami(caller: CallerOfRequest) -> object:
    """Return who calls, how that was proven, and the rights by pattern of resources."""
    known = caller.authenticated
    if known is None or known.identity is None:
        everything = [{"on": "registry", "operations": [each.value for each in AccessOperation]}]
        return {"principal": ANONYMOUS, "groups": [], "method": "none", "rights": everything}
    identity = known.identity
    shown: Document = {
        "principal": identity.principal,
        "groups": sorted(identity.groups),
        "method": identity.method,
    }
    if identity.expires is not None:
        shown["expires"] = int(identity.expires * 1000)
    if identity.scopes is not None:
        shown["scopes"] = [
            {"on": str(each.pattern), "operations": _sorted(allowed_by(each.operations))} for each in identity.scopes
        ]
    rights = {"rights": _by_pattern(rule for rule in known.rights.rules if rule.allows)}
    denied = _by_pattern(rule for rule in known.rights.rules if not rule.allows)
    return {**shown, **rights, **({"denied": denied} if denied else {})}


def _by_pattern(rules: Iterable[AccessRule]) -> list[Document]:
    found: dict[str, set[AccessOperation]] = {}
    for rule in rules:
        found.setdefault(str(rule.pattern), set()).update(rule.affected)
    return [{"on": pattern, "operations": _sorted(operations)} for pattern, operations in sorted(found.items())]


def _sorted(operations: Iterable[AccessOperation]) -> list[str]:
    return sorted(operation.value for operation in operations)


async def ask_whether(
    administration: Administration, caller: CallerOfRequest, request: Request, body: QuestionBody
) -> object:
    """Return whether somebody may do something, the rule that decides, and those that came near it."""
    try:
        needs, more = await _needs(body, request)
        principal = None if body.principal is None else parse_principal(body.principal)
        groups = [parse_principal(each) for each in body.groups]
    except InvalidQuestion as mistake:
        raise BadRequest(str(mistake)) from None
    await administration.records.catch_up()
    answers = [_answer(administration, caller, need, principal, groups) for need in needs]
    shown = [
        {"operation": need.operation.value, "resource": str(need.shown), **shown_answer(answer, rule_text)}
        for need, answer in zip(needs, answers, strict=True)
    ]
    if body.request is None:
        return shown_answer(answers[0], rule_text)
    allowed = {"allowed": all(answer.allowed for answer in answers), "needs": shown}
    return {**allowed, **({"more": more} if more else {})}


async def _needs(body: QuestionBody, request: Request) -> tuple[list[Need], str]:
    if body.request is not None:
        if body.operation is not None or body.resource is not None:
            raise InvalidQuestion("ask about a request, or about an operation on a resource")
        return await needs_of_request(body.request, request)
    if body.operation is None or body.resource is None:
        raise InvalidQuestion("operation and resource are missing, or request")
    resource = parse_resource(body.resource)
    return [Need(parse_operation(body.operation), resource, resource)], ""


def _answer(
    administration: AccessAdministration,
    caller: RequestCaller,
    need: Need,
    principal: str | None,
    groups: list[str],
) -> AccessAnswer:
    """Return the answer about the caller itself, or about somebody else to those who may know it."""
    identity = None if caller.authenticated is None else caller.authenticated.identity
    if identity is None:
        raise Forbidden("User is denied operation on this server.")
    if principal in {None, identity.principal} and not groups:
        found = may(administration.declared, identity.principal, identity.groups, need.operation, need.resource)
        is_allowed = caller.may(need.operation, need.resource)
        return found if found.allowed == is_allowed else type(found)(is_allowed, None, found.near)
    caller.require(AccessOperation.DESCRIBE_ACCESS, REGISTRY)
    return may(administration.declared, principal or identity.principal, groups, need.operation, need.resource)


async def ask_who_can(administration: Administration, body: WhoCanBody) -> object:
    """Return the declared users, services and groups that may do something, each with the rule that decides."""
    try:
        operation, resource = parse_operation(body.operation), parse_resource(body.resource)
    except InvalidQuestion as mistake:
        raise BadRequest(str(mistake)) from None
    await administration.records.catch_up()
    found = who_can(administration.declared, operation, resource)
    return [{"principal": principal, "rule": shown_rule(rule, rule_text(rule))} for principal, rule in found]


# --- users and services


async def list_users(administration: Administration) -> object:
    """List the users in the store."""
    return [SHOWN_USER.write(each) for each in (await administration.records.current()).users.values()]


async def get_user(administration: Administration, name: Name) -> object:
    """Return a user."""
    return SHOWN_USER.write(await administration.user(name))


async def put_user(administration: Administration, caller: CallerOfRequest, name: Name, body: UserBody) -> object:
    """Store a user, or change what is stored of one."""
    if body.password is not None and body.hash is not None:
        raise InvalidAccess("A user is stored with a password or with the hash of one, not with both")
    password = None if body.password is None else body.password.encode("utf-8", "surrogatepass")
    stored = await administration.put_user(
        name, password=password, hashed=body.hash, is_disabled=body.disabled, by=caller.requester
    )
    return SHOWN_USER.write(stored)


async def delete_user(administration: Administration, caller: CallerOfRequest, name: Name) -> None:
    """Delete a user, with the tokens of it and the bindings to it."""
    await administration.delete_user(name, by=caller.requester)


async def list_services(administration: Administration) -> object:
    """List the services, which are accounts with tokens and without a password."""
    return [SERVICE_FORM.write(each) for each in (await administration.records.current()).services.values()]


async def get_service(administration: Administration, name: Name) -> object:
    """Return a service."""
    return SERVICE_FORM.write(await administration.service(name))


async def put_service(administration: Administration, caller: CallerOfRequest, name: Name, body: ServiceBody) -> object:
    """Store a service, or change what is stored of one."""
    return SERVICE_FORM.write(
        await administration.put_service(
            name, description=body.description, is_disabled=body.disabled, by=caller.requester
        )
    )


async def delete_service(administration: Administration, caller: CallerOfRequest, name: Name) -> None:
    """Delete a service, with the tokens of it and the bindings to it."""
    await administration.delete_service(name, by=caller.requester)


# --- tokens


async def list_tokens(administration: Administration, caller: CallerOfRequest) -> object:
    """List the tokens: all for those who may see who may do what, else the caller's own; a token sees itself."""
    caller.require_member()
    found = await administration.tokens()
    if not caller.may(AccessOperation.DESCRIBE_ACCESS, REGISTRY):
        identity = None if caller.authenticated is None else caller.authenticated.identity
        own = None if identity is None else identity.token_id
        found = [each for each in found if each.owner == caller.name and own in {None, each.id}]
    return [SHOWN_TOKEN.write(each) for each in found]


async def create_token(administration: Administration, caller: CallerOfRequest, body: TokenBody) -> object:
    """Make a token. Its text is in this response alone."""
    caller.require_member()
    owner = caller.name if body.owner is None else body.owner
    if owner == caller.name:
        _require_password(caller)
        permit: Callable[[Sequence[OperationScope]], None] = partial(permit_own_scopes, caller)
    else:
        require_administrator(caller)
        permit = _anything
    scopes = None if body.scopes is None else tuple(each.scope() for each in body.scopes)
    made, text = await administration.create_token(
        TokenRequest(owner, body.name, scopes, body.days), permit=permit, by=caller.requester
    )
    return MADE_TOKEN.write(MadeToken(made.id, text, made.expires))


def _anything(_: object) -> None:
    """Permit all scopes: whoever may change rules can give all rights."""


def _require_password(caller: RequestCaller) -> None:
    """Raise unless the caller has proven itself by a password: a token makes no others for its owner."""
    identity = None if caller.authenticated is None else caller.authenticated.identity
    if identity is None or identity.token_id is not None:
        raise Forbidden("User is denied operation on this server. A token cannot make or revoke tokens of its owner")
    if identity.method != _PASSWORD or not identity.principal.startswith(USER):
        raise InvalidAccess(
            f"{identity.principal} is known by {identity.method} alone; an administrator makes a token for a service"
        )


async def revoke_token(administration: Administration, caller: CallerOfRequest, name: Name) -> None:
    """Revoke a token; when this is answered, no server on the store accepts it."""
    caller.require_member()
    token = (await administration.records.current()).tokens.get(name)
    if token is not None and token.owner == caller.name and not caller.may(AccessOperation.ALTER_ACCESS, REGISTRY):
        _require_password(caller)
    else:
        require_administrator(caller)
    await administration.revoke_token(name, by=caller.requester)


# --- roles and bindings


async def list_roles(administration: Administration) -> object:
    """List the roles: the built-in ones, and those of the store."""
    built_in = [AccessRole(name, tuple(_sorted(operations))) for name, operations in ROLES.items()]
    stored = await administration.records.current()
    return [ROLE.write(each) for each in (*built_in, *stored.roles.values())]


async def put_role(administration: Administration, caller: CallerOfRequest, name: Name, body: RoleBody) -> object:
    """Store a role: a name for operations."""
    return ROLE.write(await administration.put_role(name, tuple(body.operations), by=caller.requester))


async def delete_role(administration: Administration, caller: CallerOfRequest, name: Name) -> None:
    """Delete a role that nothing names."""
    await administration.delete_role(name, by=caller.requester)


async def list_bindings(administration: Administration) -> object:
    """List the rules in the store."""
    stored = await administration.records.current()
    return [_shown(stored, binding_id) for binding_id in stored.bindings]


def _shown(stored: StoredAccess, binding_id: str) -> object:
    return SHOWN_BINDING.write(ShownBinding.of(stored.bindings[binding_id], stored.revisions[binding_id]))


async def create_binding(administration: Administration, caller: CallerOfRequest, body: BindingBody) -> object:
    """Add a rule, inside what the caller may grant."""
    made = await administration.put_binding(
        body.binding(),
        maker=caller.name,
        permit=partial(permit_rule, caller),
        permit_held=partial(permit_held_rule, caller),
        by=caller.requester,
    )
    return SHOWN_BINDING.write(ShownBinding.of(*made))


async def change_binding(
    administration: Administration, caller: CallerOfRequest, name: Name, body: BindingBody, revision: Revision
) -> object:
    """Change a rule, if it has the revision in ``If-Match``."""
    await _require_known(administration, caller, name)
    changed = await administration.put_binding(
        body.binding(name),
        maker=caller.name,
        permit=partial(permit_rule, caller),
        permit_held=partial(permit_held_rule, caller),
        revision=revision,
        by=caller.requester,
    )
    return SHOWN_BINDING.write(ShownBinding.of(*changed))


async def delete_binding(
    administration: Administration, caller: CallerOfRequest, name: Name, revision: Revision
) -> None:
    """Delete a rule, if it has the revision in ``If-Match``."""
    await _require_known(administration, caller, name)
    await administration.delete_binding(
        name, permit_held=partial(permit_held_rule, caller), revision=revision, by=caller.requester
    )


async def _require_known(administration: AccessAdministration, caller: RequestCaller, binding_id: str) -> None:
    """Raise ``Forbidden`` for a binding that does not exist, unless the caller may know that."""
    if binding_id not in (await administration.records.current()).bindings:
        require_administrator(caller)


# The routes under ``/auth/v1``.

_route = partial(ValidatedRoute, tag="access")
_BASE: Final = "/auth/v1"
_SEE: Final = on(AccessOperation.DESCRIBE_ACCESS, the_registry)
_CHANGE: Final = on(AccessOperation.ALTER_ACCESS, the_registry)
_OFF: Final = (errors.AccessRecordNotFound,)
_CHANGED: Final = (*_OFF, errors.AccessConflict, errors.InvalidAccess)
_AT_REVISION: Final = (*_CHANGED, errors.RevisionChanged)

ACCESS_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", f"{_BASE}/whoami", get_whoami, access=MEMBER, result=SOMEBODY, errors=()),
    _route("POST", f"{_BASE}/can", ask_whether, access=MEMBER, result=ANSWER, errors=_OFF),
    _route("POST", f"{_BASE}/who-can", ask_who_can, access=_SEE, result=CALLERS, errors=_OFF),
    _route("GET", f"{_BASE}/users", list_users, access=_SEE, result=ListOf(SHOWN_USER), errors=_OFF),
    _route("GET", f"{_BASE}/users/{{name}}", get_user, access=_SEE, result=SHOWN_USER, errors=_OFF),
    _route("PUT", f"{_BASE}/users/{{name}}", put_user, access=_CHANGE, result=SHOWN_USER, errors=_CHANGED),
    _route("DELETE", f"{_BASE}/users/{{name}}", delete_user, access=_CHANGE, errors=_CHANGED),
    _route("GET", f"{_BASE}/services", list_services, access=_SEE, result=ListOf(SERVICE_FORM), errors=_OFF),
    _route("GET", f"{_BASE}/services/{{name}}", get_service, access=_SEE, result=SERVICE_FORM, errors=_OFF),
    _route("PUT", f"{_BASE}/services/{{name}}", put_service, access=_CHANGE, result=SERVICE_FORM, errors=_CHANGED),
    _route("DELETE", f"{_BASE}/services/{{name}}", delete_service, access=_CHANGE, errors=_CHANGED),
    _route("GET", f"{_BASE}/tokens", list_tokens, access=MEMBER, result=ListOf(SHOWN_TOKEN), errors=_OFF),
    _route("POST", f"{_BASE}/tokens", create_token, access=FROM_BODY, result=MADE_TOKEN, errors=_CHANGED),
    _route("DELETE", f"{_BASE}/tokens/{{name}}", revoke_token, access=FROM_BODY, errors=_CHANGED),
    _route("GET", f"{_BASE}/roles", list_roles, access=_SEE, result=ListOf(ROLE), errors=_OFF),
    _route("PUT", f"{_BASE}/roles/{{name}}", put_role, access=_CHANGE, result=ROLE, errors=_CHANGED),
    _route("DELETE", f"{_BASE}/roles/{{name}}", delete_role, access=_CHANGE, errors=_CHANGED),
    _route("GET", f"{_BASE}/bindings", list_bindings, access=_SEE, result=ListOf(SHOWN_BINDING), errors=_OFF),
    _route("POST", f"{_BASE}/bindings", create_binding, access=FROM_BODY, result=SHOWN_BINDING, errors=_CHANGED),
    _route(
        "PUT",
        f"{_BASE}/bindings/{{name}}",
        change_binding,
        access=FROM_BODY,
        result=SHOWN_BINDING,
        errors=_AT_REVISION,
    ),
    _route("DELETE", f"{_BASE}/bindings/{{name}}", delete_binding, access=FROM_BODY, errors=_AT_REVISION),
)
