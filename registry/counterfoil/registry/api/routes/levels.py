"""The routes under ``/config`` and ``/mode``."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api import levels, models
from counterfoil.registry.api.routes.parameters import AS_OF
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema import errors

LEVEL_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    ConfluentRoute(
        "GET",
        "/config",
        levels.get_config,
        tag="config",
        query=("defaultToGlobal", AS_OF),
        result=models.ConfigBody,
        errors=(),
    ),
    ConfluentRoute(
        "PUT",
        "/config",
        levels.put_config,
        tag="config",
        body=models.ConfigUpdateBody,
        result=models.ConfigUpdateBody,
        errors=(errors.InvalidCompatibilityLevel, errors.InvalidRuleSet, errors.OperationNotPermitted),
    ),
    ConfluentRoute(
        "DELETE",
        "/config",
        levels.delete_config,
        tag="config",
        result=models.ConfigBody,
        errors=(errors.OperationNotPermitted,),
    ),
    ConfluentRoute(
        "GET",
        "/config/{subject}",
        levels.get_config,
        tag="config",
        query=("defaultToGlobal", AS_OF),
        result=models.ConfigBody,
        errors=(errors.ConfigNotFound,),
    ),
    ConfluentRoute(
        "PUT",
        "/config/{subject}",
        levels.put_config,
        tag="config",
        body=models.ConfigUpdateBody,
        result=models.ConfigUpdateBody,
        errors=(
            errors.InvalidCompatibilityLevel,
            errors.InvalidRuleSet,
            errors.InvalidSubject,
            errors.OperationNotPermitted,
        ),
    ),
    ConfluentRoute(
        "DELETE",
        "/config/{subject}",
        levels.delete_config,
        tag="config",
        result=models.ConfigBody,
        errors=(errors.SubjectNotFound, errors.OperationNotPermitted),
    ),
    ConfluentRoute(
        "GET", "/mode", levels.get_mode, tag="mode", query=("defaultToGlobal", AS_OF), result=models.ModeBody, errors=()
    ),
    ConfluentRoute(
        "PUT",
        "/mode",
        levels.put_mode,
        tag="mode",
        query=("force",),
        body=models.ModeBody,
        result=models.ModeBody,
        errors=(errors.InvalidMode, errors.ReferenceExists, errors.OperationNotPermitted),
    ),
    ConfluentRoute(
        "DELETE",
        "/mode",
        levels.delete_mode,
        tag="mode",
        query=("recursive",),
        result=models.ModeBody,
        errors=(errors.OperationNotPermitted,),
    ),
    ConfluentRoute(
        "GET",
        "/mode/{subject}",
        levels.get_mode,
        tag="mode",
        query=("defaultToGlobal", AS_OF),
        result=models.ModeBody,
        errors=(errors.ModeNotFound,),
    ),
    ConfluentRoute(
        "PUT",
        "/mode/{subject}",
        levels.put_mode,
        tag="mode",
        query=("force",),
        body=models.ModeBody,
        result=models.ModeBody,
        errors=(errors.InvalidMode, errors.InvalidSubject, errors.ReferenceExists, errors.OperationNotPermitted),
    ),
    ConfluentRoute(
        "DELETE",
        "/mode/{subject}",
        levels.delete_mode,
        tag="mode",
        query=("recursive",),
        result=models.ModeBody,
        errors=(errors.SubjectNotFound, errors.OperationNotPermitted),
    ),
)
