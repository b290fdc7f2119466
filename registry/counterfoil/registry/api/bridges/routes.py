"""The routes under ``/bridges/v1``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api.bridges import endpoints as bridges
from counterfoil.registry.api.routes.access import FOUND, FROM_BODY, on, the
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import Kind
from counterfoil.schema import errors
from counterfoil.schema.rest.bridges import BRIDGE, POSSIBLE_TRANSITION, STATUS, TRANSITION
from counterfoil.schema.rest.object_forms import ListOf

_route = partial(ValidatedRoute, tag="bridges")
_ALL: Final = "/bridges/v1"
_ONE: Final = f"{_ALL}/{{name}}"

_bridge = the(Kind.BRIDGE, "name")
_READ: Final = on(Operation.READ, _bridge)
_WRITE: Final = on(Operation.WRITE, _bridge)

_FOUND: Final = (errors.BridgeNotFound,)
_DEFINED: Final = (
    errors.SubjectNotFound,
    errors.VersionNotFound,
    errors.IncompatibleSchema,
    errors.InvalidSchema,
    errors.InvalidSubject,
    errors.InvalidRuleSet,
    errors.InvalidBridge,
    errors.OperationNotPermitted,
)
_CHANGED: Final = (*_FOUND, errors.OperationNotPermitted)

BRIDGE_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _ALL, bridges.list_bridges, access=FOUND, result=ListOf(STATUS), errors=()),
    _route(
        "POST", _ALL, bridges.register_bridge, access=FROM_BODY, result=BRIDGE, errors=(errors.BridgeExists, *_DEFINED)
    ),
    _route("GET", _ONE, bridges.get_bridge, access=_READ, result=STATUS, errors=_FOUND),
    _route(
        "PUT",
        _ONE,
        bridges.change_bridge,
        access=_WRITE & FROM_BODY,
        result=BRIDGE,
        errors=(*_FOUND, errors.BridgeInUse, *_DEFINED),
    ),
    _route(
        "DELETE",
        _ONE,
        bridges.delete_bridge,
        access=on(Operation.DELETE, _bridge),
        errors=(*_CHANGED, errors.BridgeInUse),
    ),
    _route(
        "GET",
        f"{_ONE}/gates",
        bridges.list_possible_transitions,
        access=_READ,
        result=ListOf(POSSIBLE_TRANSITION),
        errors=_FOUND,
    ),
    _route(
        "GET", f"{_ONE}/transitions", bridges.list_transitions, access=_READ, result=ListOf(TRANSITION), errors=_FOUND
    ),
    _route(
        "POST",
        f"{_ONE}/transitions",
        bridges.change_state,
        access=_WRITE,
        result=BRIDGE,
        errors=(*_CHANGED, errors.InvalidBridge, errors.TransitionRefused),
    ),
    _route(
        "POST", f"{_ONE}/progress", bridges.report_progress, access=_WRITE, errors=(*_FOUND, errors.ReporterReplaced)
    ),
    _route("POST", f"{_ONE}/verification", bridges.report_verification, access=_WRITE, errors=_FOUND),
    _route("POST", f"{_ONE}/readers", bridges.report_readers, access=_WRITE, errors=_FOUND),
)
