"""The routes under ``/config`` and ``/mode``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api import levels
from counterfoil.registry.api.bodies import CONFIG_IN_FORCE, CONFIG_UPDATE, MODE
from counterfoil.registry.api.routes.access import FROM_BODY, MEMBER, on, the_scope
from counterfoil.registry.api.routes.parameters import AS_OF
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema import errors

_config = partial(ConfluentRoute, tag="config")
_mode = partial(ConfluentRoute, tag="mode")

_READING: Final = ("defaultToGlobal", AS_OF)

_SEE: Final = on(Operation.DESCRIBE_CONFIGS, the_scope)
_ALTER_CONFIG: Final = on(Operation.ALTER_CONFIGS, the_scope)
_PUT_CONFIG: Final = _ALTER_CONFIG & FROM_BODY
_ALTER_MODE: Final = on(Operation.ALTER_MODE, the_scope)
_PUT_MODE: Final = _ALTER_MODE & FROM_BODY

_WRITE: Final = (errors.OperationNotPermitted,)
_INVALID_CONFIG: Final = (*_WRITE, errors.InvalidCompatibilityLevel, errors.InvalidRuleSet)
_INVALID_MODE: Final = (*_WRITE, errors.InvalidMode, errors.ReferenceExists)

LEVEL_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _config("GET", "/config", levels.get_config, access=MEMBER, query=_READING, result=CONFIG_IN_FORCE, errors=()),
    _config(
        "PUT",
        "/config",
        levels.put_config,
        access=_PUT_CONFIG,
        body=CONFIG_UPDATE,
        result=CONFIG_UPDATE,
        errors=_INVALID_CONFIG,
    ),
    _config("DELETE", "/config", levels.delete_config, access=_ALTER_CONFIG, result=CONFIG_IN_FORCE, errors=_WRITE),
    _config(
        "GET",
        "/config/{subject}",
        levels.get_config,
        access=_SEE,
        query=_READING,
        result=CONFIG_IN_FORCE,
        errors=(errors.ConfigNotFound,),
    ),
    _config(
        "PUT",
        "/config/{subject}",
        levels.put_config,
        access=_PUT_CONFIG,
        body=CONFIG_UPDATE,
        result=CONFIG_UPDATE,
        errors=(*_INVALID_CONFIG, errors.InvalidSubject),
    ),
    _config(
        "DELETE",
        "/config/{subject}",
        levels.delete_config,
        access=_ALTER_CONFIG,
        result=CONFIG_IN_FORCE,
        errors=(*_WRITE, errors.SubjectNotFound),
    ),
    _mode("GET", "/mode", levels.get_mode, access=MEMBER, query=_READING, result=MODE, errors=()),
    _mode(
        "PUT",
        "/mode",
        levels.put_mode,
        access=_PUT_MODE,
        query=("force",),
        body=MODE,
        result=MODE,
        errors=_INVALID_MODE,
    ),
    _mode("DELETE", "/mode", levels.delete_mode, access=_ALTER_MODE, query=("recursive",), result=MODE, errors=_WRITE),
    _mode(
        "GET",
        "/mode/{subject}",
        levels.get_mode,
        access=_SEE,
        query=_READING,
        result=MODE,
        errors=(errors.ModeNotFound,),
    ),
    _mode(
        "PUT",
        "/mode/{subject}",
        levels.put_mode,
        access=_PUT_MODE,
        query=("force",),
        body=MODE,
        result=MODE,
        errors=(*_INVALID_MODE, errors.InvalidSubject),
    ),
    _mode(
        "DELETE",
        "/mode/{subject}",
        levels.delete_mode,
        access=_ALTER_MODE,
        query=("recursive",),
        result=MODE,
        errors=(*_WRITE, errors.SubjectNotFound),
    ),
)
