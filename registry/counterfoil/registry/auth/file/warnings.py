"""What is doubtful about an access file that can be used: findings for its administrators."""

from __future__ import annotations

import stat
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.names import GROUP, SERVICE, USER
from counterfoil.registry.domain.access.operations import ON_REGISTRY_ONLY, Operation
from counterfoil.registry.domain.access.patterns import contains
from counterfoil.registry.domain.access.resources import Kind
from counterfoil.registry.domain.access.roles import lacks_of
from counterfoil.registry.domain.access.rule_text import rule_text
from counterfoil.registry.domain.access.rules import ANONYMOUS, EVERYBODY
from counterfoil.schema.counting import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from counterfoil.registry.auth.file.model import AccessFile
    from counterfoil.registry.domain.access.rules import Rule

_MOST_COMPARED: Final = 1000


class Doubt(Enum):
    """The kinds of warnings."""

    READABLE = "readable by others"
    WEAK_HASH = "weak hash"
    NO_ADMIN = "no administrator"
    UNKNOWN_NAME = "unknown name"
    IDLE_RULE = "rule without effect"
    PREFIX = "prefixes that clash"
    ROLE = "role without a new operation"
    MAKER = "maker without the right"


@dataclass(frozen=True, slots=True)
class AccessWarning:
    """One warning: ``place`` is a file, with its line where there is one."""

    doubt: Doubt
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.doubt.value}: {self.text}"


def find_warnings(file: AccessFile) -> tuple[AccessWarning, ...]:
    """Return what a server logs at its start: about files, hashes, administrators, prefixes, roles."""
    return (*_readable(file), *_weak(file), *_no_admin(file), *_prefixes(file), *_roles(file))


def find_idle_rules(file: AccessFile, *, known: Collection[str] = ()) -> tuple[AccessWarning, ...]:
    """Return the rules that never apply, with names that nobody has, or that others decide; it takes longer.

    ``known`` are the principals that a store has.
    """
    return (*_unknown(file, known), *_covered(file), *_registry_only(file.rules))


def _readable(file: AccessFile) -> Iterator[AccessWarning]:
    """Yield the files with hashes or secrets that others can read: those that the access file names, or itself."""
    holders = {file.places[USER + name].path for name in file.users}
    for state in file.states:
        holds = state.path != file.path or str(state.path) in holders
        if holds and state.mode is not None and state.mode & stat.S_IROTH:
            text = f"it has hashes of passwords or a secret; chmod o-r {state.path}"
            yield AccessWarning(Doubt.READABLE, str(state.path), text)


def _weak(file: AccessFile) -> Iterator[AccessWarning]:
    for name, user in file.users.items():
        if user.stored.weakness is not None:
            yield AccessWarning(Doubt.WEAK_HASH, str(file.places[USER + name]), f"{name}: {user.stored.weakness}")


def _no_admin(file: AccessFile) -> Iterator[AccessWarning]:
    if not file.admins:
        yield AccessWarning(
            Doubt.NO_ADMIN,
            str(file.path),
            "nobody is listed in admins; nobody but an administrator in the store may change access",
        )


def _prefixes(file: AccessFile) -> Iterator[AccessWarning]:
    for (first, one), (second, other) in combinations(file.prefixes, 2):
        if one and other and (one.startswith(other) or other.startswith(one)):
            text = f"{first} ({one!r}) and {second} ({other!r}) can give the same names"
            yield AccessWarning(Doubt.PREFIX, str(file.path), text)
    for name in file.users:
        for source, prefix in file.prefixes:
            if prefix and name.startswith(prefix):
                text = f"{name} is a user of the file and can be a name of {source}"
                yield AccessWarning(Doubt.PREFIX, str(file.places[USER + name]), text)


def _roles(file: AccessFile) -> Iterator[AccessWarning]:
    for name, operations in file.roles.items():
        for lack in lacks_of(operations):
            yield AccessWarning(Doubt.ROLE, str(file.path), f"the role {name} {lack}")


def _unknown(file: AccessFile, known: Collection[str]) -> Iterator[AccessWarning]:
    """Yield the principals of rules and members of groups that no source of names can have."""
    outside = [prefix for _, prefix in file.prefixes]
    used = [(rule.principal, rule.source) for rule in file.rules]
    used += [(member, str(file.places[group])) for group, members in file.groups.items() for member in members]
    for principal, source in dict.fromkeys(used):
        word, name = principal.split(":", 1)
        is_named = principal in file.places or principal in known or principal in {ANONYMOUS, EVERYBODY}
        is_known = is_named or f"{word}:" == SERVICE
        if not is_known and not any(name.startswith(prefix) for prefix in outside):
            kind = "group" if f"{word}:" == GROUP else "user"
            text = f"{principal}: no {kind} of the file, and no issuer or proxy names it; a certificate may"
            yield AccessWarning(Doubt.UNKNOWN_NAME, source, text)


def _covered(file: AccessFile) -> Iterator[AccessWarning]:
    """Yield the rules that another one about the same principal makes superfluous."""
    by_principal: dict[str, list[Rule]] = defaultdict(list)
    for rule in file.rules:
        by_principal[rule.principal].append(rule)
    for principal, rules in by_principal.items():
        if len(rules) > _MOST_COMPARED:
            text = (
                f"{counted(len(rules), 'rule')} about {principal} were not compared with each other; there are too many"
            )
            yield AccessWarning(Doubt.IDLE_RULE, str(file.path), text)
            continue
        for number, rule in enumerate(rules):
            found = _stronger(rule, rules[:number], rules[number + 1 :])
            if found is not None:
                yield AccessWarning(
                    Doubt.IDLE_RULE, rule.source, f"{rule_text(rule)} has no effect, because of {found.source}"
                )


def _stronger(rule: Rule, before: Iterable[Rule], after: Iterable[Rule]) -> Rule | None:
    """Return a rule that leaves ``rule`` without effect. Of two equal ones the later has none."""
    for other, is_earlier in [*((each, True) for each in before), *((each, False) for each in after)]:
        if rule.is_final or not contains(other.pattern, rule.pattern):
            continue
        is_same_effect = other.allows == rule.allows
        denies_it = rule.allows and not other.allows and rule.affected <= other.affected
        wins = is_same_effect and rule.affected <= other.affected
        is_equal = wins and rule.affected == other.affected and contains(rule.pattern, other.pattern)
        if denies_it or (wins and (is_earlier or not is_equal)):
            return other
    return None


def _registry_only(rules: Iterable[Rule]) -> Iterator[AccessWarning]:
    for rule in rules:
        only = rule.operations & ON_REGISTRY_ONLY
        if rule.pattern.kind is not Kind.REGISTRY and rule.operations == only:
            yield AccessWarning(
                Doubt.IDLE_RULE, rule.source, f"{rule_text(rule)} has an effect with on: registry alone"
            )
        elif rule.pattern.kind not in {Kind.REGISTRY, Kind.CONTEXT} and rule.operations == {Operation.AUDIT}:
            text = f"{rule_text(rule)} has an effect on the registry and on contexts alone"
            yield AccessWarning(Doubt.IDLE_RULE, rule.source, text)
