"""Bridges and sketches, of this project's registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterfoil.schema.datum import JsonObject
from counterfoil.schema.rest.bridges import (
    BRIDGE,
    BRIDGE_VERIFICATION,
    NEW_BRIDGE,
    POSSIBLE_TRANSITION,
    PROGRESS,
    READERS,
    RECEIVED_KEY,
    STATUS,
    Bridge,
    BridgeState,
    BridgeStatus,
    BridgeVerification,
    NewBridge,
    PossibleTransition,
    Progress,
    Readers,
)
from counterfoil.schema.rest.object_forms import read_each, read_texts
from counterfoil.sdk.operations.operation import (
    Operation,
    ReplyForm,
    action,
    json_body,
    read_nothing,
    read_object,
    url_path,
    url_query,
)

# Bridges, of this project's registry: their states, and the reports about them.

_BRIDGES: Final = ("bridges", "v1")


def bridges(*, state: BridgeState | None = None, subject: str | None = None) -> Operation[tuple[BridgeStatus, ...]]:
    """``GET /bridges/v1``, of this project's registry, as all operations about bridges.

    :func:`~counterfoil.sdk.operations.page_of` continues the list.
    """
    return Operation(
        "bridges", "GET", url_path(*_BRIDGES), read_each(STATUS.read), url_query(state=state, subject=subject)
    )


def bridge(name: str) -> Operation[BridgeStatus]:
    """``GET /bridges/v1/{name}``."""
    return Operation("bridge", "GET", url_path(*_BRIDGES, name), STATUS.read)


def register_bridge(new: NewBridge, *, dry_run: bool = False) -> Operation[Bridge]:
    """``POST /bridges/v1``: repeatable, since an equal bridge is found again."""
    body = json_body(NEW_BRIDGE.write(new))
    return Operation("register_bridge", "POST", url_path(*_BRIDGES), BRIDGE.read, url_query(dryRun=dry_run), body)


def change_bridge(name: str, changes: NewBridge, *, dry_run: bool = False) -> Operation[Bridge]:
    """``PUT /bridges/v1/{name}``: what is None in ``changes`` stays as it is."""
    body = json_body(NEW_BRIDGE.write(changes))
    return Operation("change_bridge", "PUT", url_path(*_BRIDGES, name), BRIDGE.read, url_query(dryRun=dry_run), body)


def delete_bridge(name: str) -> Operation[None]:
    """``DELETE /bridges/v1/{name}``."""
    return action("delete_bridge", "DELETE", url_path(*_BRIDGES, name))


def bridge_gates(name: str) -> Operation[tuple[PossibleTransition, ...]]:
    """``GET /bridges/v1/{name}/gates``: the states that the bridge can change to, with the gates as they are now."""
    path = url_path(*_BRIDGES, name, "gates")
    return Operation("bridge_gates", "GET", path, read_each(POSSIBLE_TRANSITION.read))


def change_bridge_state(
    name: str,
    state: BridgeState,
    *,
    by: str,
    reason: str = "",
    force: bool = False,
    expected: BridgeState | None = None,
    dry_run: bool = False,
) -> Operation[Bridge]:
    """``POST /bridges/v1/{name}/transitions``; with ``expected`` it is refused in any other state."""
    body = {"to": state, "by": by, "reason": reason, "force": force} | ({"from": expected} if expected else {})
    path, query = url_path(*_BRIDGES, name, "transitions"), url_query(dryRun=dry_run)
    return Operation("change_bridge_state", "POST", path, BRIDGE.read, query, json_body(body), is_repeatable=False)


def report_progress(name: str, report: Progress) -> Operation[None]:
    """``POST /bridges/v1/{name}/progress``: the latest report is kept."""
    return _report(name, "progress", PROGRESS.write(report))


def report_verification(name: str, report: BridgeVerification) -> Operation[None]:
    """``POST /bridges/v1/{name}/verification``: the latest report is kept."""
    return _report(name, "verification", BRIDGE_VERIFICATION.write(report))


def report_readers(name: str, report: Readers) -> Operation[None]:
    """``POST /bridges/v1/{name}/readers``: the latest report is kept."""
    return _report(name, "readers", READERS.write(report))


def _report(name: str, kind: str, document: JsonObject) -> Operation[None]:
    document.pop(RECEIVED_KEY, None)
    path = url_path(*_BRIDGES, name, kind)
    return Operation(f"report_{kind}", "POST", path, read_nothing, body=json_body(document), form=ReplyForm.NOTHING)


# Sketches of subjects, of this project's registry.

_SKETCHES: Final = ("sketches", "v1", "subjects")


def sketched_subjects() -> Operation[tuple[str, ...]]:
    """``GET /sketches/v1/subjects``, of this project's registry: the subjects that have a sketch."""
    return Operation("sketched_subjects", "GET", url_path(*_SKETCHES), read_texts)


def sketch(subject: str) -> Operation[JsonObject]:
    """``GET /sketches/v1/subjects/{subject}``: the document of a sketch."""
    return Operation("sketch", "GET", url_path(*_SKETCHES, subject), read_object)


def put_sketch(subject: str, document: Mapping[str, object]) -> Operation[None]:
    """``PUT /sketches/v1/subjects/{subject}``: repeatable, since it replaces the sketch."""
    path, body = url_path(*_SKETCHES, subject), json_body(document)
    return Operation("put_sketch", "PUT", path, read_nothing, body=body, form=ReplyForm.NOTHING)
