"""What is doubtful about the rules that a store declares beside an access file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.auth.file.warnings import AccessWarning, Doubt
from counterfoil.registry.domain.access.administration import united
from counterfoil.registry.domain.access.names import STORE_OWNER
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.questions import principals_named
from counterfoil.registry.domain.access.resources import REGISTRY
from counterfoil.registry.domain.access.rights import Rights
from counterfoil.registry.domain.access.rule_text import rule_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.registry.auth.file.model import AccessFile
    from counterfoil.registry.domain.access.rules import Rule
    from counterfoil.registry.domain.access.stored import StoredAccess


def find_stored_warnings(file: AccessFile, stored: StoredAccess) -> tuple[AccessWarning, ...]:
    """Return the rules of a store that whoever made them could not make any more, by the rules in force."""
    return tuple(_orphaned(file, stored))


def _orphaned(file: AccessFile, stored: StoredAccess) -> Iterator[AccessWarning]:
    """Yield the rules with a maker who lacks what ``/auth/v1`` demands, by the declared rules and groups."""
    declared = united(file, stored)
    for binding, rule in zip(stored.bindings.values(), stored.rules, strict=True):
        maker = binding.maker
        if not maker or maker == STORE_OWNER:
            continue
        if not _may_make(Rights(declared.rules, principals_named(declared, maker, ())), rule):
            text = (
                f"{maker} made {rule_text(rule)}, and could not make it now, by the declared rules and groups; "
                "delete it, or let somebody else make it"
            )
            yield AccessWarning(Doubt.MAKER, f"binding {binding.id} of the store", text)


def _may_make(rights: Rights, rule: Rule) -> bool:
    """Return whether a caller with these rights may make a rule, as ``/auth/v1`` decides it."""
    if rights.allows(Operation.ALTER_ACCESS, REGISTRY):
        return True
    needed = {Operation.GRANT, *rule.affected}
    return rule.allows and all(rights.holds(operation, rule.pattern) for operation in needed)
