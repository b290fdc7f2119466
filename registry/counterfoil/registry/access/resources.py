"""Operations that rules allow or deny, the resources that they are done to, and roles: names for sets of operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple

from counterfoil.schema.contexts import TOP_LEVEL, QualifiedSubject

# What callers do: the operations that rules allow or deny, and which operation implies which.


class AccessOperation(Enum):
    """An operation that a rule allows or denies; the value is its name in files and requests."""

    DESCRIBE = "DESCRIBE"
    READ = "READ"
    WRITE = "WRITE"
    DELETE = "DELETE"
    PURGE = "PURGE"
    DESCRIBE_CONFIGS = "DESCRIBE_CONFIGS"
    ALTER_CONFIGS = "ALTER_CONFIGS"
    ALTER_MODE = "ALTER_MODE"
    IMPORT = "IMPORT"
    UNWRAP = "UNWRAP"
    GRANT = "GRANT"
    METRICS = "METRICS"
    AUDIT = "AUDIT"
    DESCRIBE_ACCESS = "DESCRIBE_ACCESS"
    ALTER_ACCESS = "ALTER_ACCESS"
    WEBHOOKS = "WEBHOOKS"


MEANINGS: Final[Mapping[AccessOperation, str]] = {
    AccessOperation.DESCRIBE: "see names, version numbers, times and ids",
    AccessOperation.READ: "read texts, look schemas up, test compatibility",
    AccessOperation.WRITE: "register, and change tags",
    AccessOperation.DELETE: "delete softly",
    AccessOperation.PURGE: "delete permanently",
    AccessOperation.DESCRIBE_CONFIGS: "see levels and modes",
    AccessOperation.ALTER_CONFIGS: (
        "change levels, aliases, default metadata and rules; approve; register with `force=true`"
    ),
    AccessOperation.ALTER_MODE: "change modes",
    AccessOperation.IMPORT: "register with an id or a version; set the modes IMPORT and FORWARD",
    AccessOperation.UNWRAP: "read the plain key material of a shared key",
    AccessOperation.GRANT: "make rules inside the pattern, of operations that one has",
    AccessOperation.METRICS: "read `/metrics`",
    AccessOperation.AUDIT: "read the audit; on a context: the events about it and its subjects",
    AccessOperation.DESCRIBE_ACCESS: "see users, tokens, roles and rules, and ask what others may do",
    AccessOperation.ALTER_ACCESS: "change users, tokens, roles and rules, which is as much as every right",
    AccessOperation.WEBHOOKS: "change webhooks",
}
"""What each operation is, as the end of a sentence that begins with *may*."""

_DIRECTLY: Final[Mapping[AccessOperation, tuple[AccessOperation, ...]]] = {
    AccessOperation.WRITE: (AccessOperation.READ,),
    AccessOperation.READ: (AccessOperation.DESCRIBE, AccessOperation.DESCRIBE_CONFIGS),
    AccessOperation.PURGE: (AccessOperation.DELETE,),
    AccessOperation.DELETE: (AccessOperation.DESCRIBE,),
    AccessOperation.ALTER_CONFIGS: (AccessOperation.DESCRIBE_CONFIGS,),
    AccessOperation.ALTER_MODE: (AccessOperation.DESCRIBE_CONFIGS,),
    AccessOperation.DESCRIBE_CONFIGS: (AccessOperation.DESCRIBE,),
    AccessOperation.UNWRAP: (AccessOperation.READ,),
}


def _closure(operation: AccessOperation) -> frozenset[AccessOperation]:
    return frozenset({operation}).union(*(_closure(implied) for implied in _DIRECTLY.get(operation, ())))


IMPLIED: Final[Mapping[AccessOperation, frozenset[AccessOperation]]] = {
    operation: _closure(operation) for operation in AccessOperation
}
"""By operation: itself and all that it implies. Who may do it may do those."""

IMPLYING: Final[Mapping[AccessOperation, frozenset[AccessOperation]]] = {
    operation: frozenset(other for other in AccessOperation if operation in IMPLIED[other])
    for operation in AccessOperation
}
"""By operation: itself and all that imply it. Who may not do it may not do those."""

ON_REGISTRY_ONLY: Final = frozenset(
    {
        AccessOperation.METRICS,
        AccessOperation.DESCRIBE_ACCESS,
        AccessOperation.ALTER_ACCESS,
        AccessOperation.WEBHOOKS,
    }
)
"""The operations that exist on the registry alone, and on nothing inside it."""


def allowed_by(operations: Iterable[AccessOperation]) -> frozenset[AccessOperation]:
    """Return the operations that an allowing rule with ``operations`` allows.

    >>> sorted(operation.value for operation in allowed_by([AccessOperation.DELETE]))
    ['DELETE', 'DESCRIBE']
    """
    return frozenset[AccessOperation]().union(*(IMPLIED[operation] for operation in operations))


def denied_by(operations: Iterable[AccessOperation]) -> frozenset[AccessOperation]:
    """Return the operations that a denying rule with ``operations`` denies.

    >>> sorted(operation.value for operation in denied_by([AccessOperation.DELETE]))
    ['DELETE', 'PURGE']
    """
    return frozenset[AccessOperation]().union(*(IMPLYING[operation] for operation in operations))


# What operations are done to: the registry, its contexts, their subjects, and the other things with names.


class ResourceKind(Enum):
    """The kinds of resources; the value is the word before the colon in files and messages."""

    REGISTRY = "registry"
    CONTEXT = "context"
    SUBJECT = "subject"
    KEK = "kek"
    APPLICATION = "application"
    ENVIRONMENT = "environment"
    BRIDGE = "bridge"


@dataclass(frozen=True, slots=True)
class AccessResource:
    """One resource. ``context`` is that of a subject or a context, ``name`` is empty for a context and the registry."""

    kind: ResourceKind
    name: str = ""
    context: str = ""

    def __str__(self) -> str:
        """Return the text that messages use, such as ``Subject: orders-value``."""
        match self.kind:
            case ResourceKind.REGISTRY:
                return "Registry"
            case ResourceKind.CONTEXT:
                return f"Context: {self.context}"
            case ResourceKind.SUBJECT if self.context != TOP_LEVEL.context:
                return f"Subject: :{self.context}:{self.name}"
            case _:
                return f"{self.kind.value.capitalize()}: {self.name}"


REGISTRY: Final = AccessResource(ResourceKind.REGISTRY)


def subject_resource(subject: QualifiedSubject) -> AccessResource:
    """Return a subject as a resource; a name that is a context is that context."""
    if subject.is_global:
        return REGISTRY
    if subject.is_context:
        return AccessResource(ResourceKind.CONTEXT, context=subject.context)
    return AccessResource(ResourceKind.SUBJECT, subject.name, subject.context)


def scope_resource(scope: QualifiedSubject) -> AccessResource:
    """Return the resource whose config or mode ``scope`` names: that of the default context is the registry's."""
    return REGISTRY if scope == TOP_LEVEL else subject_resource(scope)


# Roles: names for sets of operations. A rule by role is a rule with its operations.

_Op = AccessOperation

ROLES: Final[Mapping[str, frozenset[AccessOperation]]] = MappingProxyType(
    {
        "reader": frozenset({_Op.READ}),
        "developer": frozenset({_Op.READ, _Op.WRITE}),
        "owner": frozenset({_Op.WRITE, _Op.DELETE, _Op.ALTER_CONFIGS, _Op.GRANT}),
        "operator": frozenset(
            {_Op.WRITE, _Op.PURGE, _Op.ALTER_CONFIGS, _Op.ALTER_MODE, _Op.IMPORT, _Op.METRICS, _Op.WEBHOOKS}
        ),
        "auditor": frozenset({_Op.DESCRIBE, _Op.AUDIT, _Op.DESCRIBE_ACCESS}),
        "admin": frozenset(AccessOperation),
    }
)
"""The built-in roles."""

ALIASES: Final[Mapping[str, frozenset[AccessOperation]]] = MappingProxyType(
    {
        "DeveloperRead": ROLES["reader"],
        "DeveloperWrite": ROLES["developer"],
        "DeveloperManage": frozenset({_Op.DELETE, _Op.ALTER_CONFIGS}),
        "ResourceOwner": ROLES["owner"],
        "SystemAdmin": ROLES["admin"],
    }
)
"""The names of Confluent's roles, which can be written in place of ours."""

ADDED_IN: Final[Mapping[AccessOperation, str]] = MappingProxyType({})
"""The operations that came after the first version with access control, each with its version.

They are in the built-in roles from then on; roles that somebody has defined lack them.
"""


class Lack(NamedTuple):
    """An operation that a role lacks, although it has everything else of a built-in role."""

    operation: AccessOperation
    version: str
    built_in: str

    def __str__(self) -> str:
        """Return it as the end of a sentence about the role."""
        return f"has all of {self.built_in} but {self.operation.value}, which version {self.version} has added"


def lacks_of(operations: Iterable[AccessOperation], added: Mapping[AccessOperation, str] = ADDED_IN) -> list[Lack]:
    """Return the new operations that a role with ``operations`` lacks and the built-in roles that it is like have."""
    allowed = allowed_by(operations)
    found = []
    for operation, version in added.items():
        before = {name: role - added.keys() for name, role in ROLES.items() if operation in role}
        like = next((name for name, role in before.items() if role and role <= allowed), None)
        if operation not in allowed and like is not None:
            found.append(Lack(operation, version, like))
    return found
