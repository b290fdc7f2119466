"""Rules: who may, or may not, do what to which resources. A binding is a rule with the operations of a role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.operations import Operation, allowed_by, denied_by
from counterfoil.registry.domain.access.patterns import EVERYTHING, Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of requests without credentials; it has what rules give to it by this name alone."""

EVERYBODY: Final = "User:*"
"""In rules: every caller but the anonymous one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule about ``principal``: the text ``User:NAME``, ``Service:NAME``, ``Group:NAME``, or ``User:*``.

    ``source`` is where it was written, for those who ask why: a file with its line, or the id of a binding.
    ``is_final``: no denying rule has an effect on what it allows; the rules of the administrators in the file are.
    """

    principal: str
    allows: bool
    operations: frozenset[Operation]
    pattern: Pattern
    source: str = ""
    is_final: bool = False

    @property
    def affected(self) -> frozenset[Operation]:
        """The operations that it allows or denies, with those that follow from them."""
        return allowed_by(self.operations) if self.allows else denied_by(self.operations)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a token is limited to: these operations, and those that they imply, on these resources."""

    operations: frozenset[Operation]
    pattern: Pattern


def lets_anonymous_in(rules: Iterable[Rule]) -> bool:
    """Return whether requests without credentials are let in: some rule gives rights to them."""
    return any(rule.allows and rule.principal == ANONYMOUS for rule in rules)


def allow(principal: str, operations: Iterable[Operation], on: Pattern, *, source: str = "") -> Rule:
    """Return the rule that ``principal`` may do ``operations``, and what they imply, to ``on``."""
    return Rule(principal, allows=True, operations=frozenset(operations), pattern=on, source=source)


def deny(principal: str, operations: Iterable[Operation], on: Pattern, *, source: str = "") -> Rule:
    """Return the rule that ``principal`` may not do ``operations``, nor what implies them, to ``on``."""
    return Rule(principal, allows=False, operations=frozenset(operations), pattern=on, source=source)


def administrator(principal: str, *, source: str = "") -> Rule:
    """Return the rule that ``principal`` may do everything, whatever is denied."""
    return Rule(
        principal, allows=True, operations=frozenset(Operation), pattern=EVERYTHING, source=source, is_final=True
    )
