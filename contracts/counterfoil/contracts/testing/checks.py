"""What is checked of a record: one constraint of one field, a header, the key, or a rule in CEL.

All of these are values that can be sent to another process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterfoil.contracts.constraints import Required
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from counterfoil.contracts.constraints import Constraint
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
