"""What callers do: the operations that rules allow or deny, and which operation implies which."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Operation(Enum):
    """What a rule allows or denies; the value is its name in files and requests."""

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


MEANINGS: Final[Mapping[Operation, str]] = {
    Operation.DESCRIBE: "see names, version numbers, times and ids",
    Operation.READ: "read texts, look schemas up, test compatibility",
    Operation.WRITE: "register, and change tags",
    Operation.DELETE: "delete softly",
    Operation.PURGE: "delete permanently",
    Operation.DESCRIBE_CONFIGS: "see levels and modes",
    Operation.ALTER_CONFIGS: "change levels, aliases, default metadata and rules; approve; register with `force=true`",
    Operation.ALTER_MODE: "change modes",
    Operation.IMPORT: "register with an id or a version; set the modes IMPORT and FORWARD",
    Operation.UNWRAP: "read the plain key material of a shared key",
    Operation.GRANT: "make rules inside the pattern, of operations that one has",
    Operation.METRICS: "read `/metrics`",
    Operation.AUDIT: "read the audit; on a context: the events about it and its subjects",
    Operation.DESCRIBE_ACCESS: "see users, tokens, roles and rules, and ask what others may do",
    Operation.ALTER_ACCESS: "change users, tokens, roles and rules, which is as much as every right",
    Operation.WEBHOOKS: "change webhooks",
}
"""What each operation is, as the end of a sentence that begins with *may*."""

_DIRECTLY: Final[Mapping[Operation, tuple[Operation, ...]]] = {
    Operation.WRITE: (Operation.READ,),
    Operation.READ: (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS),
    Operation.PURGE: (Operation.DELETE,),
    Operation.DELETE: (Operation.DESCRIBE,),
    Operation.ALTER_CONFIGS: (Operation.DESCRIBE_CONFIGS,),
    Operation.ALTER_MODE: (Operation.DESCRIBE_CONFIGS,),
    Operation.DESCRIBE_CONFIGS: (Operation.DESCRIBE,),
    Operation.UNWRAP: (Operation.READ,),
}


def _closure(operation: Operation) -> frozenset[Operation]:
    return frozenset({operation}).union(*(_closure(implied) for implied in _DIRECTLY.get(operation, ())))


IMPLIED: Final[Mapping[Operation, frozenset[Operation]]] = {operation: _closure(operation) for operation in Operation}
"""By operation: itself and all that it implies. Who may do it may do those."""

IMPLYING: Final[Mapping[Operation, frozenset[Operation]]] = {
    operation: frozenset(other for other in Operation if operation in IMPLIED[other]) for operation in Operation
}
"""By operation: itself and all that imply it. Who may not do it may not do those."""

ON_REGISTRY_ONLY: Final = frozenset(
    {
        Operation.METRICS,
        Operation.DESCRIBE_ACCESS,
        Operation.ALTER_ACCESS,
        Operation.WEBHOOKS,
    }
)
"""The operations that exist on the registry alone, and on nothing inside it."""


def allowed_by(operations: Iterable[Operation]) -> frozenset[Operation]:
    """Return the operations that an allowing rule with ``operations`` allows.

    >>> sorted(operation.value for operation in allowed_by([Operation.DELETE]))
    ['DELETE', 'DESCRIBE']
    """
    return frozenset[Operation]().union(*(IMPLIED[operation] for operation in operations))


def denied_by(operations: Iterable[Operation]) -> frozenset[Operation]:
    """Return the operations that a denying rule with ``operations`` denies.

    >>> sorted(operation.value for operation in denied_by([Operation.DELETE]))
    ['DELETE', 'PURGE']
    """
    return frozenset[Operation]().union(*(IMPLYING[operation] for operation in operations))
