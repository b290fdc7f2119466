"""The rules in force, as one value: a new value takes the place of all of the old one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from counterfoil.registry.domain.access.rules import Rule

_DIGITS: Final = 16


@dataclass(frozen=True)
class Policy:
    """The rules, and the paths that need no credentials besides those of health; these are compared byte for byte.

    One that ends with a slash stands for the paths with one more segment.
    """

    rules: tuple[Rule, ...] = ()
    open_paths: frozenset[bytes] = frozenset()

    @cached_property
    def open_folders(self) -> frozenset[bytes]:
        """The open paths that stand for others."""
        return frozenset(path for path in self.open_paths if path.endswith(b"/"))

    def is_open(self, path: bytes | None) -> bool:
        """Return whether a path needs no credentials."""
        return path in self.open_paths or (path is not None and path[: path.rfind(b"/") + 1] in self.open_folders)

    @cached_property
    def digest(self) -> str:
        """The beginning of a digest of both: servers with the same one decide alike, wherever rules are written."""
        rules = {
            (
                rule.principal,
                rule.allows,
                rule.is_final,
                str(rule.pattern),
                *sorted(operation.value for operation in rule.operations),
            )
            for rule in self.rules
        }
        text = repr((sorted(rules), sorted(self.open_paths)))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
