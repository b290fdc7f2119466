"""The config and modes on which a write was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.service.storage import PutSettings
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Append, HardDelete, SoftDelete

KINDS: Final = frozenset({ChangeKind.SETTINGS, ChangeKind.RECORD})
"""The changes that can change the settings in effect. Changes of records do not name their subjects."""


def scopes_behind(plan: Append | SoftDelete | HardDelete | PutSettings) -> tuple[QualifiedSubject, ...] | None:
    """Return the scopes whose config and modes are in effect for the plan's writes; None is all scopes.

    A change of another scope since the plan was made does not make it stale; otherwise registrations would be repeated
    for ever in a registry whose settings change all the time.
    """
    if not isinstance(plan, PutSettings):
        return _in_force_for(plan.subject)
    return _in_force_for(plan.scopes[0][0]) if len(plan.scopes) == 1 else None


def _in_force_for(scope: QualifiedSubject) -> tuple[QualifiedSubject, ...]:
    return tuple(dict.fromkeys((scope, QualifiedSubject(scope.context, ""), TOP_LEVEL, GLOBAL_LEVEL)))
