"""The routes under ``/config`` and ``/mode``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api import levels
from counterfoil.registry.api.bodies import CONFIG_IN_FORCE, CONFIG_UPDATE, MODE
from counterfoil.registry.api.routes.parameters import AS_OF
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema import errors

_config = partial(ConfluentRoute, tag="config")
_mode = partial(ConfluentRoute, tag="mode")

_READING: Final = ("defaultToGlobal", AS_OF)

_WRITE: Final = (errors.OperationNotPermitted,)
_INVALID_CONFIG: Final = (*_WRITE, errors.InvalidCompatibilityLevel, errors.InvalidRuleSet)
_INVALID_MODE: Final = (*_WRITE, errors.InvalidMode, errors.ReferenceExists)

LEVEL_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _config("GET", "/config", levels.get_config, query=_READING, result=CONFIG_IN_FORCE, errors=()),
    _config("PUT", "/config", levels.put_config, body=CONFIG_UPDATE, result=CONFIG_UPDATE, errors=_INVALID_CONFIG),
    _config("DELETE", "/config", levels.delete_config, result=CONFIG_IN_FORCE, errors=_WRITE),
    _config(
        "GET",
        "/config/{subject}",
        levels.get_config,
        query=_READING,
        result=CONFIG_IN_FORCE,
        errors=(errors.ConfigNotFound,),
    ),
    _config(
        "PUT",
        "/config/{subject}",
        levels.put_config,
        body=CONFIG_UPDATE,
        result=CONFIG_UPDATE,
        errors=(*_INVALID_CONFIG, errors.InvalidSubject),
    ),
    _config(
        "DELETE",
        "/config/{subject}",
        levels.delete_config,
        result=CONFIG_IN_FORCE,
        errors=(*_WRITE, errors.SubjectNotFound),
    ),
    _mode("GET", "/mode", levels.get_mode, query=_READING, result=MODE, errors=()),
    _mode("PUT", "/mode", levels.put_mode, query=("force",), body=MODE, result=MODE, errors=_INVALID_MODE),
    _mode("DELETE", "/mode", levels.delete_mode, query=("recursive",), result=MODE, errors=_WRITE),
    _mode("GET", "/mode/{subject}", levels.get_mode, query=_READING, result=MODE, errors=(errors.ModeNotFound,)),
    _mode(
        "PUT",
        "/mode/{subject}",
        levels.put_mode,
        query=("force",),
        body=MODE,
        result=MODE,
        errors=(*_INVALID_MODE, errors.InvalidSubject),
    ),
    _mode(
        "DELETE",
        "/mode/{subject}",
        levels.delete_mode,
        query=("recursive",),
        result=MODE,
        errors=(*_WRITE, errors.SubjectNotFound),
    ),
)
