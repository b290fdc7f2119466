"""What is checked of a record: one constraint of one field, a header, the key, or a rule in CEL.

All of these are values that can be sent to another process.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.constraints import Required
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from counterfoil.contracts.constraints import Constraint
    from counterfoil.schema.compatibility.identity import Identity
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.position import Position


@dataclass(frozen=True, slots=True)
class Check:
    """What every check has: ``text`` is its sentence about a record that fails, ``file`` and ``position`` its place.

    ``element`` is the path that it is about; with ``is_hidden``, no value is ever shown.
    """

    rule: str
    text: str
    file: str
    element: str = ""
    severity: Severity = Severity.ERROR
    position: Position | None = None
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class ValueCheck(Check):
    """A constraint of the field at ``path``."""

    path: FieldPath = ()
    constraint: Constraint = field(default_factory=Required)


@dataclass(frozen=True, slots=True)
class HeaderCheck(Check):
    """A constraint of the header ``name``."""

    name: str = ""
    constraint: Constraint = field(default_factory=Required)


@dataclass(frozen=True, slots=True)
class KeyCheck(Check):
    """The record's key must be equal to the field at ``path``."""

    path: FieldPath = ()


@dataclass(frozen=True, slots=True)
class CelCheck(Check):
    """A condition in CEL."""

    source: str = ""


_UNSAID: Final = frozenset({"text", "file", "position", "severity", "is_hidden"})
"""What does not identify a check: sentences, and where it is declared."""


def facts_of(check: Check) -> Identity:
    """Return what identifies a check: what it demands, and of what; never its sentence."""
    return _facts(check)


def _facts(value: object) -> Identity:
    if is_dataclass(value):
        found = ((each.name, _facts(getattr(value, each.name))) for each in fields(value) if each.name not in _UNSAID)
        return [type(value).__name__, *found]
    if isinstance(value, tuple | list):
        return [_facts(each) for each in value]
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    return str(value)
