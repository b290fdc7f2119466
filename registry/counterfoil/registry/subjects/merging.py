"""Metadata and rules: how they come together, which are valid, and whether two schemas are equivalent with them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.schema.errors import InvalidRuleSet
from counterfoil.schema.model import Metadata, RuleSet
from counterfoil.schema.rest.schemas import MIGRATION_MODES, OTHER_MODES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from counterfoil.registry.subjects.versions import Content
    from counterfoil.schema.model import Rule
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.rest.subjects import Config


# How metadata and rules come together at a registration: defaults, then the schema's own, then overrides.
#
# Source: Confluent Schema Registry's documentation of data contracts.

_T = TypeVar("_T")

VERSION_PROPERTY: Final = "confluent:version"
"""The metadata property that holds a schema's own version number, where it has one."""


def merged_metadata(config: Config, own: Metadata | None) -> Metadata | None:
    """Return the metadata that a registration stores: the config's defaults, over them ``own``, then its overrides."""
    return _layered(merge_metadata, config.default_metadata, own, config.override_metadata)


def merged_rule_set(config: Config, own: RuleSet | None) -> RuleSet | None:
    """Return the rules that a registration stores, layered in the same way."""
    return _layered(merge_rule_sets, config.default_rule_set, own, config.override_rule_set)


def _layered(merge: Callable[[_T, _T], _T], *layers: _T | None) -> _T | None:
    result: _T | None = None
    for layer in layers:
        if layer is not None:
            result = layer if result is None else merge(result, layer)
    return result


def merge_metadata(under: Metadata, over: Metadata) -> Metadata:
    """Tags and properties replaced key by key; sensitive names of both."""
    return Metadata(
        tags={**under.tags, **over.tags},
        properties={**under.properties, **over.properties},
        sensitive=tuple(sorted({*under.sensitive, *over.sensitive})),
    )


def merge_rule_sets(under: RuleSet, over: RuleSet) -> RuleSet:
    """List by list: the rules of ``under`` whose names ``over`` does not use, then those of ``over``."""
    return RuleSet(
        migration_rules=_merge_rules(under.migration_rules, over.migration_rules),
        domain_rules=_merge_rules(under.domain_rules, over.domain_rules),
        encoding_rules=_merge_rules(under.encoding_rules, over.encoding_rules),
        enable_at=over.enable_at or under.enable_at,
    )


def without_rules(rule_set: RuleSet, names: Collection[str]) -> RuleSet:
    """``rule_set`` without the rules that have one of ``names``, in whichever list they are."""

    def kept(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if rule.name not in names)

    return replace(
        rule_set,
        migration_rules=kept(rule_set.migration_rules),
        domain_rules=kept(rule_set.domain_rules),
        encoding_rules=kept(rule_set.encoding_rules),
    )


def _merge_rules(under: tuple[Rule, ...], over: tuple[Rule, ...]) -> tuple[Rule, ...]:
    taken = {rule.name for rule in over}
    return (*(rule for rule in under if rule.name not in taken), *over)


def stamped(metadata: Metadata | None, version: int) -> Metadata:
    """``metadata`` with the version property set to ``version``."""
    base = metadata or Metadata()
    return replace(base, properties={**base.properties, VERSION_PROPERTY: str(version)})


def stamp_of(metadata: Metadata | None) -> str | None:
    """Return the version property of ``metadata``; None if there is none."""
    return None if metadata is None else metadata.properties.get(VERSION_PROPERTY)


def unstamped(metadata: Metadata | None) -> Metadata | None:
    """``metadata`` without the version property."""
    if stamp_of(metadata) is None or metadata is None:
        return metadata
    kept = {name: value for name, value in metadata.properties.items() if name != VERSION_PROPERTY}
    return replace(metadata, properties=kept)


# Whether a requested schema is equivalent to a stored one.


@dataclass(frozen=True, slots=True)
class Candidate:
    """A schema from a request: its content, and its parsed form."""

    content: Content
    parsed: ParsedSchema


def may_match(asked: Content, stored: Content, version: int) -> bool:
    """Return whether ``stored``, which is ``version`` of its subject, may be equivalent, apart from the texts.

    References are equal, or the request has none (its types are written out); rules are equal; metadata is equal apart
    from the version property, see :func:`_same_metadata`.
    """
    return (
        asked.schema_type == stored.schema_type
        and (not asked.references or asked.references == stored.references)
        and asked.rule_set == stored.rule_set
        and _same_metadata(asked.metadata, stored.metadata, version)
    )


def _same_metadata(asked: Metadata | None, stored: Metadata | None, version: int) -> bool:
    asked_stamp, stored_stamp = stamp_of(asked), stamp_of(stored)
    if asked_stamp is None and stored_stamp is not None:
        return (asked or Metadata()) == unstamped(stored)
    if asked_stamp is not None and stored_stamp is None:
        return asked_stamp == str(version) and unstamped(asked) == (stored or Metadata())
    return asked == stored


# Which rule sets are valid.

_PAIRED_MODES: Final = frozenset({"UPDOWN", "WRITEREAD"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,255}")


def check_rule_set(rule_set: RuleSet | None) -> None:
    """Return when the rules are valid; else ``InvalidRuleSet`` naming the first that is not, and why."""
    if rule_set is None:
        return
    seen: set[str] = set()
    for rule in rule_set.migration_rules:
        _check(rule, seen, MIGRATION_MODES)
    for rule in (*rule_set.domain_rules, *rule_set.encoding_rules):
        _check(rule, seen, OTHER_MODES)


def _check(rule: Rule, seen: set[str], modes: tuple[str, ...]) -> None:
    if not _NAME.fullmatch(rule.name):
        raise InvalidRuleSet(
            f"Rule name {rule.name[:80]!r} is not valid; expected a letter or '_', then letters, digits, '_' or '-'"
        )
    if rule.name in seen:
        raise InvalidRuleSet(f"Rule name {rule.name!r} occurs twice; names are unique in a rule set")
    seen.add(rule.name)
    if not rule.type:
        raise InvalidRuleSet(f"Rule {rule.name!r} has no type; expected one such as 'CEL'")
    if rule.mode not in modes:
        raise InvalidRuleSet(f"Rule {rule.name!r} has mode {rule.mode}; expected one of {', '.join(modes)} here")
    for action in (rule.on_success, rule.on_failure):
        if action and "," in action and rule.mode not in _PAIRED_MODES:
            raise InvalidRuleSet(f"Rule {rule.name!r} has a list of actions; mode {rule.mode} takes a single one")


# Reserved field names: a metadata property with names that fields may not have, checked if ``validateFields`` is on.
#
# Source: Confluent Schema Registry's public API (``confluent:reserved``).

RESERVED_PROPERTY: Final = "confluent:reserved"
"""The metadata property that lists names with commas between them."""


def reserved_names(metadata: Metadata | None) -> tuple[str, ...]:
    """Return the names that ``metadata`` reserves, in order."""
    listed = "" if metadata is None else metadata.properties.get(RESERVED_PROPERTY, "")
    return tuple(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))


def reservation_messages(
    metadata: Metadata | None, field_names: Collection[str], *, latest: Metadata | None
) -> tuple[str, ...]:
    """Return a message for each name that a new schema no longer reserves, and for each field with a reserved name.

    ``field_names`` are those of its top level, ``latest`` is the metadata of the version before it.
    """
    names = reserved_names(metadata)
    lost = [name for name in reserved_names(latest) if name not in names]
    taken = [name for name in names if name in field_names]
    return (
        *(
            f"{{errorType:'RESERVED_FIELD_REMOVED', description:'The new schema no longer reserves the name {name}, "
            f"which the latest version does', additionalInfo:'{name}'}}"
            for name in lost
        ),
        *(
            f"{{errorType:'FIELD_CONFLICTS_WITH_RESERVED_FIELD', description:'The new schema has a field {name}, "
            f"a name that it reserves', additionalInfo:'{name}'}}"
            for name in taken
        ),
    )
