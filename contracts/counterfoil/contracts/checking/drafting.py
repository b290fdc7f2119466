"""The findings about one schema file while it is checked."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.folding import Cause, Draft, Drafts
from counterfoil.contracts.model import Finding, fingerprint
from counterfoil.schema.compatibility.levels import Direction
from counterfoil.schema.paths import print_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.contracts.folding import Proof
    from counterfoil.contracts.tree import SchemaTree
    from counterfoil.schema.compatibility.identity import Identity
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.paths import FieldPath
    from counterfoil.schema.position import Position
    from counterfoil.schema.reports.model import Severity

_SEEN_FROM_THE_ROOT: Final = "column"
"""The fact about a difference that depends on the schema in which the difference shows."""


class FileDrafts(Drafts):
    """The findings about the file at ``path`` of ``head``, which grow while it is checked.

    ``is_shared``: other files have the same subject, so that the path is a part of what identifies a finding.
    """

    def __init__(self, head: SchemaTree, path: str, subject: str, *, is_shared: bool = False) -> None:
        super().__init__()
        self.path = path
        self.subject = subject
        self._head = head
        self._is_shared = is_shared

    def fingerprint(self, rule: str, *facts: Identity) -> str:
        """Return the fingerprint of a finding about this file."""
        return fingerprint(rule, self.subject, *facts, *([self.path] if self._is_shared else []))

    def report(
        self,
        rule: str,
        severity: Severity,
        text: str,
        *,
        position: Position | None = None,
        path: FieldPath = (),
        identity: Identity = (),
        direction: Direction | None = None,
        against: tuple[str, ...] = (),
        search: Callable[[], Proof] | None = None,
        because: Difference | None = None,
    ) -> None:
        """Add a finding, or add its earlier versions to an equal finding that exists already.

        ``path`` is the part of the schema, ``identity`` distinguishes it from others of the same rule, and ``because``
        is the difference that causes it.
        """
        direction_name = direction.name if direction else None
        finding = Finding(
            rule=rule,
            severity=severity,
            subject=self.subject,
            path=self.path,
            text=text,
            fingerprint=self.fingerprint(rule, direction_name, identity),
            position=position,
            element=print_path(path),
            direction=direction_name,
            against=against,
            advice=advice_for(rule, direction),
        )
        cause, is_own = self.cause(because, direction) if because and direction else (None, True)
        self.add(Draft(finding, cause, is_own, search))

    def cause(self, difference: Difference, direction: Direction) -> tuple[Cause | None, bool]:
        """Return the cause of a finding, and whether it is in this file."""
        inner = difference.because or difference
        origin = inner.reader_origin if direction is Direction.BACKWARD else inner.writer_origin
        if origin is None:
            return None, True
        holder = origin.holder
        if origin.is_document:
            holder = self.path if origin.is_own else self._referred.get(holder, holder)
        facts = tuple(fact for fact in inner.sentence.facts if fact[0] != _SEEN_FROM_THE_ROOT)
        cause = Cause(direction, holder, origin.steps, inner.rule, facts, is_in_document=origin.is_document)
        return cause, origin.is_own

    @cached_property
    def _referred(self) -> Mapping[str, str]:
        return self._head.referred(self.path)
