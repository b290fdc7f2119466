"""The rules of an access file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.auth.file.nodes import each, listed, principal
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.patterns import InvalidPattern, Pattern, parse_pattern
from counterfoil.registry.domain.access.roles import ALIASES, ROLES
from counterfoil.registry.domain.access.rules import ANONYMOUS, Rule, administrator
from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.documents.blocks import block, likely, refusal, text_of
from counterfoil.schema.documents.nodes import InvalidDocument, MappingNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.documents.nodes import Node

    Roles = Mapping[str, frozenset[Operation]]

MAX_RULES: Final = 10_000
_OPERATIONS: Final = {operation.value: frozenset({operation}) for operation in Operation}
_BUILT_IN: Final = {**ROLES, **ALIASES}
_EFFECTS: Final = ("allow", "deny")


def read_roles(top: MappingNode) -> Roles:
    """Return the roles of the file's own."""
    node = top.entries.get("roles")
    if node is None:
        return {}
    if not isinstance(node, MappingNode):
        raise refusal("roles must be a mapping of names to lists of operations", node)
    for name, position in node.key_positions.items():
        if name in _BUILT_IN or name in _OPERATIONS:
            raise InvalidDocument(f"{name} is the name of a built-in role or operation; take another name", position)
    return {name: _operations(given, _OPERATIONS) for name, given in node.entries.items()}


def read_rules(top: MappingNode, roles: Roles, path: str) -> tuple[Rule, ...]:
    """Return all rules: those of administrators, those of ``rules``, those of anonymous callers."""
    known = {**_OPERATIONS, **_BUILT_IN, **roles}
    found = [administrator(name, source=source) for name, source in _admins(top, path)]
    for node in listed(top, "rules"):
        found += _rules(node, known, path, to=None)
        if len(found) > MAX_RULES:
            raise refusal(
                f"more than {MAX_RULES} rules; a rule with several principals or resources counts as several", node
            )
    for node in listed(top, "anonymous"):
        found += _rules(node, known, path, to=ANONYMOUS)
    return tuple(found)


def _admins(top: MappingNode, path: str) -> Iterator[tuple[str, str]]:
    for node in listed(top, "admins"):
        name = principal(node, what="an administrator")
        if name in {ANONYMOUS, "User:*"}:
            raise refusal(f"{name} cannot be an administrator", node)
        yield name, f"{path}:{node.position.line}"


def _rules(node: Node, known: Roles, path: str, *, to: str | None) -> Iterator[Rule]:
    """Yield the rules of one entry: one for each principal and resource."""
    entry = block(
        node,
        what="a rule",
        required=("on",) if to is not None else ("to", "on"),
        optional=_EFFECTS,
    ).entries
    effects = [word for word in _EFFECTS if word in entry]
    if len(effects) != 1:
        raise refusal("a rule needs allow or deny, and not both", node)
    operations = _operations(entry[effects[0]], known)
    names = [to] if to is not None else [principal(given, what="to") for given in each(entry["to"])]
    patterns = [_pattern(given) for given in each(entry["on"])]
    if not names or not patterns:
        raise refusal("a rule needs at least one principal and one resource", node)
    source = f"{path}:{node.position.line}"
    for name in names:
        for pattern in patterns:
            yield Rule(name, effects[0] == "allow", operations, pattern, source)


def _operations(node: Node, known: Roles) -> frozenset[Operation]:
    """Return the operations that are listed, by their names or by those of roles."""
    given = each(node)
    if not given:
        raise refusal("a list of operations must have at least one", node)
    if len(given) == 1:
        return _named(given[0], known)
    return frozenset[Operation]().union(*(_named(item, known) for item in given))


def _named(node: Node, known: Roles) -> frozenset[Operation]:
    text = text_of(node)
    found = known.get(text)
    if found is None:
        raise refusal(f"{text or 'this'} is neither an operation nor a role; {likely(text, known)}", node)
    return found


def _pattern(node: Node) -> Pattern:
    try:
        return _parsed(text_of(node))
    except InvalidPattern as mistake:
        raise refusal(str(mistake), node) from None


_parsed = cached_if_short(10_000, longest=500)(parse_pattern)
