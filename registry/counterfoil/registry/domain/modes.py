"""Modes: who may write what. And which of several levels' modes is in force.

Source: Confluent Schema Registry's documentation of modes; the narrowest level wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.contexts import GLOBAL_LEVEL, QualifiedSubject
from counterfoil.schema.errors import InvalidMode, OperationNotPermitted
from counterfoil.schema.rest.modes import Mode

if TYPE_CHECKING:
    from collections.abc import Iterable


def parse_mode(text: str, scope: QualifiedSubject) -> Mode:
    """Return the mode that ``text`` names, in any letter case; FORWARD is for the global level only."""
    try:
        mode = Mode(text.upper())
    except ValueError:
        raise InvalidMode(f"Unknown mode {text[:80]!r}; expected one of {', '.join(Mode)}") from None
    if mode is Mode.FORWARD and scope != GLOBAL_LEVEL:
        raise InvalidMode(f"Mode FORWARD is not possible for {str(scope)!r}; it is for {str(GLOBAL_LEVEL)!r} alone")
    return mode


def effective_mode(narrowest_first: Iterable[Mode | None]) -> Mode:
    """Return the mode in force: the first that is set, otherwise READWRITE."""
    return next((mode for mode in narrowest_first if mode is not None), Mode.READWRITE)


def check_writable(mode: Mode, scope: QualifiedSubject) -> None:
    """Return unless ``mode`` is a read-only one; else ``OperationNotPermitted``."""
    if mode.is_read_only:
        raise OperationNotPermitted(f"{_named(scope)} is in {mode} mode: it takes no writes")


def check_registration(mode: Mode, scope: QualifiedSubject, *, with_id: bool) -> None:
    """Return when a new schema may be registered, with an id of its own or without; else ``OperationNotPermitted``."""
    check_writable(mode, scope)
    if with_id and not mode.takes_ids:
        raise OperationNotPermitted(f"{_named(scope)} is in {mode} mode: an id can be given in IMPORT mode only")
    if not with_id and mode.takes_ids:
        raise OperationNotPermitted(f"{_named(scope)} is in {mode} mode: a new schema must bring its id along")


def _named(scope: QualifiedSubject) -> str:
    if scope.is_default and scope.is_context:
        return "The registry"
    return f"Context {scope.context!r}" if scope.is_context else f"Subject {str(scope)!r}"
