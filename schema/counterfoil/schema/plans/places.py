"""Where a derivation is: the target's path, the rules at and below it, and the scope of source paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from counterfoil.schema.plans.formulas import BranchSegment, Path, paths_of, spell
from counterfoil.schema.plans.rules import Const, FieldRule, Formula, JoinOf, PlanRules
from counterfoil.schema.plans.scopes import SourceScope
from counterfoil.schema.plans.tree import RecordField, RecordType


@dataclass(slots=True)
class RuleNode:
    """The rules at one target path and below it."""

    rule: FieldRule | None = None
    children: dict[str, RuleNode] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: PlanRules) -> RuleNode:
        """Return the rules as a tree, by the steps of their targets."""
        root = cls()
        for rule in rules.fields:
            node = root
            for segment in rule.target:
                node = node.children.setdefault(segment, cls())
            node.rule = rule
        return root

    def child(self, segment: str) -> RuleNode:
        """Return the rules at a step and below it; without any if there are none."""
        return self.children.get(segment) or RuleNode()

    def read(self) -> Iterator[Path]:
        """Yield the paths of source fields that rules here and below read in the same scope."""
        if self.rule is not None:
            yield from paths_read(self.rule)
        for segment, below in self.children.items():
            if segment not in {"[]", "{}"} and not isinstance(segment, BranchSegment):
                yield from below.read()


def paths_read(rule: FieldRule) -> tuple[Path, ...]:
    """Return the paths of the source fields that a rule reads."""
    origin = rule.origin
    if isinstance(origin, JoinOf):
        return origin.parts
    if isinstance(origin, Formula):
        return tuple(dict.fromkeys(paths_of(origin.expression)))
    return () if isinstance(origin, Const) else (origin.path,)


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """A source record that a target record was matched with: its path in the scope, and its fields.

    ``siblings`` are the fields of the target record, and ``taken`` the names of source fields that no number finds.
    """

    path: Path
    record: RecordType
    siblings: tuple[RecordField, ...] = ()
    taken: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """The current place of the walk: the target path, the rules at and below it, and the scope of source paths.

    ``read`` are the paths in the scope that rules read. ``takes_null``: null is a value of the target here.
    """

    where: str
    node: RuleNode
    scope: SourceScope
    read: frozenset[Path] = frozenset()
    takes_null: bool = False

    def under(self, name: str) -> TargetPlace:
        """Return the place of a field."""
        spelt = spell((name,))
        joint = "." if self.where and not isinstance(name, BranchSegment) else ""
        return replace(self, where=f"{self.where}{joint}{spelt}", node=self.node.child(name))

    def inside(self, segment: str, scope: SourceScope, node: RuleNode | None = None) -> TargetPlace:
        """Return the place of the items, the values, or a branch, in a scope of its own."""
        node = self.node.child(segment) if node is None else node
        where = f"{self.where}{spell((segment,))}" if isinstance(segment, BranchSegment) else f"{self.where}{segment}"
        return TargetPlace(where, node, scope, frozenset(node.read()))
