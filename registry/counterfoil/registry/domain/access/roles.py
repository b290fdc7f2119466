"""Roles: names for sets of operations. A rule by role is a rule with its operations."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

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
