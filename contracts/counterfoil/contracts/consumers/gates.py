"""What decides on a change: the compatibility level, the consumers, both, or nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.model import Gate
from counterfoil.contracts.project.mapping import settings_at
from counterfoil.schema.counting import counted
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.contracts.model import CheckReport, Finding
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.tree import SchemaTree

_LANGUAGE: Final = "schema-type-changed"
"""A rule of the level that consumers cannot overrule: none of them reads another language."""
_READ_OR_NOT: Final = frozenset({"unit-changed", "enum-symbol-added-closed", "header-missing"})
"""The rules about promises that matter to those alone who read what is promised."""


class Gates:
    """The gates of files: the ``given`` one of all, else what ``project`` has for each, else strict.

    Contract and product files have the gate of the schema that they are about, once that is known.
    """

    def __init__(self, tree: SchemaTree, project: Project | None, given: Gate | None) -> None:
        self._tree = tree
        self._schemas = frozenset(tree.paths)
        self._project = project
        self._given = given
        self._by_path: dict[str, Gate] = {}

    def of(self, path: str) -> Gate:
        """Return the gate of the file at ``path``."""
        if self._given is not None:
            return self._given
        if path not in self._by_path:
            names = self._tree.outline(path) if path in self._schemas else None
            settings = settings_at(self._project, path, names.name if names else None)
            self._by_path[path] = settings.gate or Gate.STRICT
        return self._by_path[path]

    def lend(self, schema: str, path: str) -> None:
        """Give the agreement at ``path`` the gate of a schema, unless it has that of another one."""
        self._by_path.setdefault(path, self.of(schema))


def apply_gates(report: CheckReport, tree: SchemaTree, gates: Gates, is_read: Mapping[str, bool]) -> CheckReport:
    """Return the report with the severities that the gates leave to its findings.

    ``is_read`` says of each schema with a contract whether it has a consumer. A schema without one stays strict.
    """
    decided = _Decided(tree, is_read)
    findings, undecided, overruled = [], set(), 0
    for finding in report.findings:
        gate = gates.of(finding.path)
        if gate is Gate.OBSERVE:
            findings.append(replace(finding, is_observed=True))
            continue
        is_of_level = finding.direction is not None and finding.rule != _LANGUAGE
        if gate is Gate.CONSUMERS and is_of_level and not decided.by_consumers(finding.path):
            undecided.add(finding.path)
        elif gate is Gate.CONSUMERS and (is_of_level or _concerns_nobody(finding)):
            overruled += finding.severity is not Severity.NOTICE
            findings.append(replace(finding, severity=Severity.NOTICE))
            continue
        findings.append(finding)
    notes = [report.note] if report.note else []
    if overruled:
        notes.append(f"the gate consumers makes {counted(overruled, 'finding')} a notice")
    if undecided:
        paths = ", ".join(sorted(undecided))
        notes.append(f"the gate consumers does not apply to {paths}: no contract with a consumer is about it")
    if observed := sum(each.is_observed and each.severity is Severity.ERROR for each in findings):
        notes.append(f"the gate observe lets {counted(observed, 'error')} pass")
    return replace(report, findings=tuple(findings), note="; ".join(notes))


def _concerns_nobody(finding: Finding) -> bool:
    return finding.rule in _READ_OR_NOT and finding.readers is not None and not finding.readers.reading


class _Decided:
    """Which schemas the consumers decide on: those that are read, and those that only such schemas refer to."""

    def __init__(self, tree: SchemaTree, is_read: Mapping[str, bool]) -> None:
        self._tree = tree
        self._is_read = is_read
        self._users_by_path: dict[str, list[str]] | None = None

    def by_consumers(self, path: str, way: tuple[str, ...] = ()) -> bool:
        """Return whether consumers decide on the schema at ``path``; ``way`` are the schemas that led to it."""
        if path in self._is_read:
            return self._is_read[path]
        users = [each for each in self._users(path) if each not in way]
        return bool(users) and all(self.by_consumers(each, (*way, path)) for each in users)

    def _users(self, path: str) -> list[str]:
        """Return the schemas that refer to the one at ``path``."""
        if self._users_by_path is None:
            self._users_by_path = {}
            for each in self._tree.paths:
                for target in self._tree.direct_references(each).values():
                    self._users_by_path.setdefault(target, []).append(each)
        return self._users_by_path.get(path, [])
