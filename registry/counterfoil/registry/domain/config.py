"""What a config asks of the schemas in its scope, and which of several levels' configs is in force.

Source: Confluent Schema Registry's public API; the rules of falling back are those that its clients observe.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.policies import CompatibilityPolicy, RegistrationPolicy, rules_policy
from counterfoil.schema.rest.config import Config, IncompatibleVersions

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_LEVEL: Final = CompatibilityLevel.BACKWARD


def level_of(config: Config) -> CompatibilityLevel:
    """Return the level that applies: the stored one, else the server's default."""
    return config.compatibility_level or DEFAULT_LEVEL


def policy_of(config: Config) -> CompatibilityPolicy:
    """Return the policy by whose rules schemas are compared: the stored one, else Confluent's default."""
    return rules_policy(config.compatibility_policy or CompatibilityPolicy.STRICT)


def is_decided_by_consumers(config: Config) -> bool:
    """Return whether the consumers that are known decide on a registration, and not the level."""
    return config.compatibility_policy == RegistrationPolicy.CONSUMERS


def permits_bridged(config: Config) -> bool:
    """Return whether an incompatible version may be registered if a bridge converts it to the latest one."""
    return config.incompatible_versions is IncompatibleVersions.BRIDGED


def is_merged(config: Config) -> bool:
    """Return whether registrations get metadata or rules from ``config``."""
    given = (config.default_metadata, config.override_metadata, config.default_rule_set, config.override_rule_set)
    return any(part is not None for part in given)


def without_empty_texts(config: Config) -> Config:
    """Return ``config`` as it is stored: an empty text, such as an alias of nothing, sets nothing."""
    empty = {field.name: None for field in fields(config) if getattr(config, field.name) == ""}
    return replace(config, **empty)


_INHERITED: Final = (
    "normalize",
    "validate_fields",
    "validate_new_schemas",
    "validate_rules",
    "compatibility_policy",
    "compatibility_group",
    "incompatible_versions",
)


def effective_config(own: Config | None, top_level: Config | None, wider_first: Iterable[Config | None]) -> Config:
    """Return the config in force for a scope.

    Without an entry of its own a scope takes the first of ``wider_first`` whole. With one, the plain fields that it
    leaves open come from ``top_level``; level, alias, metadata and rules never do.
    """
    if own is None:
        return next((config for config in wider_first if config is not None), Config())
    if top_level is None:
        return own
    return replace(own, **{name: getattr(top_level, name) for name in _INHERITED if getattr(own, name) is None})
