"""The routes under ``/auth/v1``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api.access import endpoints as access
from counterfoil.registry.api.access.models import ANSWER, CALLERS, MADE_TOKEN, SHOWN_BINDING, SOMEBODY
from counterfoil.registry.api.routes.access import FROM_BODY, MEMBER, on, the_registry
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.records import ROLE, SERVICE, SHOWN_TOKEN, SHOWN_USER
from counterfoil.schema import errors
from counterfoil.schema.rest.object_forms import ListOf

_route = partial(ValidatedRoute, tag="access")
_BASE: Final = "/auth/v1"
_SEE: Final = on(Operation.DESCRIBE_ACCESS, the_registry)
_CHANGE: Final = on(Operation.ALTER_ACCESS, the_registry)
_OFF: Final = (errors.AccessRecordNotFound,)
_CHANGED: Final = (*_OFF, errors.AccessConflict, errors.InvalidAccess)
_AT_REVISION: Final = (*_CHANGED, errors.RevisionChanged)

ACCESS_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", f"{_BASE}/whoami", access.get_whoami, access=MEMBER, result=SOMEBODY, errors=()),
    _route("POST", f"{_BASE}/can", access.ask_whether, access=MEMBER, result=ANSWER, errors=_OFF),
    _route("POST", f"{_BASE}/who-can", access.ask_who_can, access=_SEE, result=CALLERS, errors=_OFF),
    _route("GET", f"{_BASE}/users", access.list_users, access=_SEE, result=ListOf(SHOWN_USER), errors=_OFF),
    _route("GET", f"{_BASE}/users/{{name}}", access.get_user, access=_SEE, result=SHOWN_USER, errors=_OFF),
    _route("PUT", f"{_BASE}/users/{{name}}", access.put_user, access=_CHANGE, result=SHOWN_USER, errors=_CHANGED),
    _route("DELETE", f"{_BASE}/users/{{name}}", access.delete_user, access=_CHANGE, errors=_CHANGED),
    _route("GET", f"{_BASE}/services", access.list_services, access=_SEE, result=ListOf(SERVICE), errors=_OFF),
    _route("GET", f"{_BASE}/services/{{name}}", access.get_service, access=_SEE, result=SERVICE, errors=_OFF),
    _route("PUT", f"{_BASE}/services/{{name}}", access.put_service, access=_CHANGE, result=SERVICE, errors=_CHANGED),
    _route("DELETE", f"{_BASE}/services/{{name}}", access.delete_service, access=_CHANGE, errors=_CHANGED),
    _route("GET", f"{_BASE}/tokens", access.list_tokens, access=MEMBER, result=ListOf(SHOWN_TOKEN), errors=_OFF),
    _route("POST", f"{_BASE}/tokens", access.create_token, access=FROM_BODY, result=MADE_TOKEN, errors=_CHANGED),
    _route("DELETE", f"{_BASE}/tokens/{{name}}", access.revoke_token, access=FROM_BODY, errors=_CHANGED),
    _route("GET", f"{_BASE}/roles", access.list_roles, access=_SEE, result=ListOf(ROLE), errors=_OFF),
    _route("PUT", f"{_BASE}/roles/{{name}}", access.put_role, access=_CHANGE, result=ROLE, errors=_CHANGED),
    _route("DELETE", f"{_BASE}/roles/{{name}}", access.delete_role, access=_CHANGE, errors=_CHANGED),
    _route("GET", f"{_BASE}/bindings", access.list_bindings, access=_SEE, result=ListOf(SHOWN_BINDING), errors=_OFF),
    _route("POST", f"{_BASE}/bindings", access.create_binding, access=FROM_BODY, result=SHOWN_BINDING, errors=_CHANGED),
    _route(
        "PUT",
        f"{_BASE}/bindings/{{name}}",
        access.change_binding,
        access=FROM_BODY,
        result=SHOWN_BINDING,
        errors=_AT_REVISION,
    ),
    _route("DELETE", f"{_BASE}/bindings/{{name}}", access.delete_binding, access=FROM_BODY, errors=_AT_REVISION),
)
