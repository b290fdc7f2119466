"""Which config and modes a write to a subject was decided on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Append, HardDelete, SoftDelete

KINDS: Final = frozenset({ChangeKind.SETTINGS, ChangeKind.RECORD})
"""The changes that can change what is in force. Of records it is not told which subjects they concern."""


def scopes_behind(plan: Append | SoftDelete | HardDelete) -> tuple[QualifiedSubject, ...]:
    """The scopes whose config and modes are in force for the plan's subject.

    A change of another one since the plan was made does not stand in its way; else a registry in which somebody always
    configures something would have its registrations begin anew for ever.
    """
    subject = plan.subject
    return tuple(dict.fromkeys((subject, QualifiedSubject(subject.context, ""), TOP_LEVEL, GLOBAL_LEVEL)))
