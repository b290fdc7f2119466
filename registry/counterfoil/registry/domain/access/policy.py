"""The rules in force, as one value: a new value takes the place of all of the old one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.registry.domain.access.rules import Rule


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules, and the paths that need no credentials besides those of health; these are compared byte for byte."""

    rules: tuple[Rule, ...] = ()
    open_paths: frozenset[bytes] = frozenset()
