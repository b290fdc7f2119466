"""Which config and modes a write was decided on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.service.storage import PutSettings
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Append, HardDelete, SoftDelete

KINDS: Final = frozenset({ChangeKind.SETTINGS, ChangeKind.RECORD})
"""The changes that can change what is in force. Of records it is not told which subjects they concern."""


def scopes_behind(plan: Append | SoftDelete | HardDelete | PutSettings) -> tuple[QualifiedSubject, ...] | None:
    """Return the scopes whose config and modes are in force for what the plan writes; None is all that there are.

    A change of another one since the plan was made does not stand in its way; else a registry in which somebody always
    configures something would have its registrations begin anew for ever.
    """
    if not isinstance(plan, PutSettings):
        return _in_force_for(plan.subject)
    return _in_force_for(plan.scopes[0][0]) if len(plan.scopes) == 1 else None


def _in_force_for(scope: QualifiedSubject) -> tuple[QualifiedSubject, ...]:
    return tuple(dict.fromkeys((scope, QualifiedSubject(scope.context, ""), TOP_LEVEL, GLOBAL_LEVEL)))
