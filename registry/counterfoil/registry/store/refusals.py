"""The errors with which every storage refuses writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.schema.errors import ContextNotEmpty, OperationNotPermitted, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Append, RecordWrite
    from counterfoil.schema.contexts import QualifiedSubject


def uncertain(sentence: str) -> str:
    """Return the error for a write whose outcome is not known.

    Every other error of a write means that it was undone.
    """
    return f"{sentence}. The write may have been carried out; to register again is safe"


def queue_full(max_waiting: int) -> StoreUnavailable:
    """Return the error for a write when too many wait."""
    return StoreUnavailable(
        f"{max_waiting} writes wait for the store already (max_waiting_writes); this one was not carried out, try later"
    )


def waited_too_long(timeout_s: float, *, is_underway: bool) -> StoreTimeout:
    """Return the error for a write that was not carried out in time."""
    said = f"The store did not carry out the write within {timeout_s:g} s (write_timeout_s)"
    return StoreTimeout(uncertain(said) if is_underway else f"{said}; it was not begun, try again later")


def settings_changed() -> StaleWrite:
    """Return the error for a config or mode that has changed."""
    return StaleWrite("config or mode has changed since the write was planned")


def subject_changed(subject: QualifiedSubject) -> StaleWrite:
    """Return the error for a subject that has changed."""
    return StaleWrite(f"{subject} has changed since the write was planned")


def record_changed(write: RecordWrite) -> StaleWrite:
    """Return the error for a record that has changed."""
    return StaleWrite(f"{write.kind} {'/'.join(write.key)} has changed since the write was planned")


def target_gone(subject: QualifiedSubject, version: int) -> StaleWrite:
    """Return the error for a reference to a version that does not exist."""
    return StaleWrite(f"{subject} version {version} is gone")


def id_taken(plan: Append) -> OperationNotPermitted:
    """Return the error for an import with an id that another schema has."""
    return OperationNotPermitted(
        f"Id {plan.schema_id} already stands for another schema in context {plan.subject.context!r}; "
        "ids are never re-bound"
    )


def still_active(subject: QualifiedSubject) -> OperationNotPermitted:
    """Return the error for a purge of a subject with active versions."""
    return OperationNotPermitted(
        f"Mode IMPORT needs a scope without schemas; subject {str(subject)!r} has active versions"
    )


def context_not_empty(context: str) -> ContextNotEmpty:
    """Return the error for a context that cannot be deleted."""
    return ContextNotEmpty(
        f"Context {context!r} still holds schemas, soft-deleted ones count; delete them permanently first"
    )
