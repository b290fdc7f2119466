"""Roles: names for sets of operations. A rule by role is a rule with its operations."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.registry.domain.access.operations import Operation, allowed_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_Op = Operation

ROLES: Final[Mapping[str, frozenset[Operation]]] = MappingProxyType(
    {
        "reader": frozenset({_Op.READ}),
        "developer": frozenset({_Op.READ, _Op.WRITE}),
        "owner": frozenset({_Op.WRITE, _Op.DELETE, _Op.ALTER_CONFIGS, _Op.GRANT}),
        "operator": frozenset(
            {_Op.WRITE, _Op.PURGE, _Op.ALTER_CONFIGS, _Op.ALTER_MODE, _Op.IMPORT, _Op.METRICS, _Op.WEBHOOKS}
        ),
        "auditor": frozenset({_Op.DESCRIBE, _Op.AUDIT, _Op.DESCRIBE_ACCESS}),
        "admin": frozenset(Operation),
    }
)
"""The built-in roles."""

ALIASES: Final[Mapping[str, frozenset[Operation]]] = MappingProxyType(
    {
        "DeveloperRead": ROLES["reader"],
        "DeveloperWrite": ROLES["developer"],
        "DeveloperManage": frozenset({_Op.DELETE, _Op.ALTER_CONFIGS}),
        "ResourceOwner": ROLES["owner"],
        "SystemAdmin": ROLES["admin"],
    }
)
"""The names of Confluent's roles, which can be written in place of ours."""

ADDED_IN: Final[Mapping[Operation, str]] = MappingProxyType({})
"""The operations that came after the first version with access control, each with its version.

They are in the built-in roles from then on; roles that somebody has defined lack them.
"""


class Lack(NamedTuple):
    """An operation that a role lacks, although it has everything else of a built-in role."""

    operation: Operation
    version: str
    built_in: str

    def __str__(self) -> str:
        """Return it as the end of a sentence about the role."""
        return f"has all of {self.built_in} but {self.operation.value}, which version {self.version} has added"


def lacks_of(operations: Iterable[Operation], added: Mapping[Operation, str] = ADDED_IN) -> list[Lack]:
    """Return the new operations that a role with ``operations`` lacks: those of the built-in roles that it is like."""
    allowed = allowed_by(operations)
    found = []
    for operation, version in added.items():
        before = {name: role - added.keys() for name, role in ROLES.items() if operation in role}
        like = next((name for name, role in before.items() if role and role <= allowed), None)
        if operation not in allowed and like is not None:
            found.append(Lack(operation, version, like))
    return found
