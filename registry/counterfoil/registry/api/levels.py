"""Operations on config, mode and compatibility."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.api.documents import read_schema_request, stored_config_document
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import scope_resource
from counterfoil.registry.domain.modes import parse_mode
from counterfoil.registry.domain.subjects import check_name
from counterfoil.registry.domain.versions import parse_version
from counterfoil.schema.errors import InvalidMode
from counterfoil.schema.rest.config import config_document, read_config_changes, unread_settings
from counterfoil.schema.rest.json_values import RequestJson, read_text
from counterfoil.schema.rest.modes import Mode
from counterfoil.schema.rest.version_forms import COMPATIBILITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.api.call import Call
    from counterfoil.registry.service.requests import SchemaRequest
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.versions import Compatibility


_NEEDED_BY_MODE: Final[Mapping[Mode | None, tuple[Operation, ...]]] = {
    Mode.IMPORT: (Operation.IMPORT, Operation.PURGE),  # it removes soft-deleted versions
    Mode.FORWARD: (Operation.IMPORT,),
}
"""The operations that a mode needs besides the change of a mode."""


# --- config


async def get_config(call: Call) -> Any:
    """Return the config of a subject, a context or the top level."""
    config = await call.cases.settings.config(call.scope_subject(), effective=call.flag("defaultToGlobal"))
    return stored_config_document(config)


async def put_config(call: Call) -> Any:
    """Change the config of a subject, a context or the top level as the body requests, and return it.

    Members that are no settings, such as a misspelt one, are ignored, as by other registries; a header names them.
    """
    request = RequestJson(await call.json())
    changes = read_config_changes(request)
    call.ignored += unread_settings(request.members(), changes)
    call.require_targets(call.scope_subject(), (changes.get("alias"), changes.get("alias_for_deks")))
    return config_document(await call.cases.settings.put_config(call.scope_subject(), changes))


async def delete_config(call: Call) -> Any:
    """Delete the config of a subject, a context or the top level, and return it."""
    return stored_config_document(await call.cases.settings.delete_config(call.scope_subject()))


# --- mode


async def get_mode(call: Call) -> Any:
    """Return the mode of a subject, a context or the top level."""
    mode = await call.cases.settings.mode(call.scope_subject(), effective=call.flag("defaultToGlobal"))
    return {"mode": mode.value}


async def put_mode(call: Call) -> Any:
    """Set the mode of a subject, a context or the top level; null clears it."""
    scope = call.scope_subject()
    text = _mode_text(await call.json())
    check_name(scope)
    mode: Mode | None = None if text is None else parse_mode(text, scope)
    for operation in _NEEDED_BY_MODE.get(mode, (Operation.ALTER_MODE,)):
        call.require(operation, scope_resource(scope))
    await call.cases.settings.put_mode(scope, mode, force=call.flag("force"))
    return {"mode": text}


def _mode_text(body: object) -> str | None:
    if isinstance(body, str):
        return body
    request = RequestJson(body)
    if "mode" not in request.members():
        raise InvalidMode(f"The request names no mode; expected one of {', '.join(Mode)}, or null")
    return request.optional("mode", read_text)


async def delete_mode(call: Call) -> Any:
    """Delete the mode of a subject, a context or the top level, and return it."""
    mode = await call.cases.settings.delete_mode(call.scope_subject(), recursive=call.flag("recursive"))
    return {} if mode is None else {"mode": mode.value}


# --- compatibility


async def test_against_all(call: Call) -> Any:
    """Check the schema in the body against the versions of a subject."""
    call.rests_on()
    subject = await call.subject()
    request = read_schema_request(await call.json())
    _require_references(call, subject, request)
    verbose = call.flag("verbose")
    result = await call.cases.compatibility.against_all(
        subject, request, normalize=call.flag("normalize"), verbose=verbose, knows=call.may_know_application
    )
    return _result_document(result, verbose=verbose)


async def test_against_version(call: Call) -> Any:
    """Check the schema in the body against one version of a subject."""
    call.rests_on()
    subject = await call.subject()
    request = read_schema_request(await call.json())
    _require_references(call, subject, request)
    version = parse_version(call.segment("version"))
    verbose = call.flag("verbose")
    result = await call.cases.compatibility.against_version(
        subject, version, request, normalize=call.flag("normalize"), verbose=verbose
    )
    return _result_document(result, verbose=verbose)


def _require_references(call: Call, subject: QualifiedSubject, request: SchemaRequest) -> None:
    """Raise ``Forbidden`` unless the caller may read all references; without any, readers get the same response."""
    call.require_references(subject, request.references)
    if not request.references:
        call.kept_for_subject(Operation.READ, subject)


def _result_document(result: Compatibility, *, verbose: bool) -> Document:
    document = COMPATIBILITY.write(result)
    if not verbose:
        del document["messages"]
    return document
