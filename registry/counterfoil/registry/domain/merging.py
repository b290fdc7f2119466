"""How metadata and rules come together at a registration: defaults, then the schema's own, then overrides.

Source: Confluent Schema Registry's documentation of data contracts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.schema.model import Metadata, RuleSet

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from counterfoil.schema.model import Rule
    from counterfoil.schema.rest.config import Config

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
