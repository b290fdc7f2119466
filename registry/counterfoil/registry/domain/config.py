"""Config: what a scope asks of the schemas in it, and which of several levels' configs is in force.

Source: Confluent Schema Registry's public API; the rules of falling back are those that its clients observe.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.policies import CompatibilityPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.model import Metadata, RuleSet

DEFAULT_LEVEL: Final = CompatibilityLevel.BACKWARD


@dataclass(frozen=True, slots=True)
class Config:
    """The fields that one level stores; None is a field that it does not set."""

    alias: str | None = None
    alias_for_deks: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_new_schemas: bool | None = None
    validate_rules: bool | None = None
    compatibility: CompatibilityLevel | None = None
    compatibility_policy: CompatibilityPolicy | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None

    @property
    def level(self) -> CompatibilityLevel:
        """The level that applies: the stored one, else the server's default."""
        return self.compatibility or DEFAULT_LEVEL

    @property
    def policy(self) -> CompatibilityPolicy:
        """The policy that applies: the stored one, else Confluent's default."""
        return self.compatibility_policy or CompatibilityPolicy.STRICT

    @property
    def merges(self) -> bool:
        """Whether registrations get metadata or rules from here."""
        given = (self.default_metadata, self.override_metadata, self.default_rule_set, self.override_rule_set)
        return any(part is not None for part in given)

    def updated(self, changes: Mapping[str, object]) -> Config:
        """This config with the named fields replaced; a None clears its field."""
        return replace(self, **changes)  # type: ignore[arg-type]  # the request parser gives each field its own type

    def without_empty_texts(self) -> Config:
        """This config as it is stored: an empty text, such as an alias of nothing, sets nothing."""
        return self.updated({name: None for name in CONFIG_FIELDS if getattr(self, name) == ""})


CONFIG_FIELDS: Final = tuple(field.name for field in fields(Config))

_INHERITED: Final = (
    "normalize",
    "validate_fields",
    "validate_new_schemas",
    "validate_rules",
    "compatibility_policy",
    "compatibility_group",
)


def effective_config(own: Config | None, top_level: Config | None, wider_first: Iterable[Config | None]) -> Config:
    """The config in force for a scope.

    Without an entry of its own a scope takes the first of ``wider_first`` whole. With one, six plain fields that it
    leaves open come from ``top_level``; level, alias, metadata and rules never do.
    """
    if own is None:
        return next((config for config in wider_first if config is not None), Config())
    if top_level is None:
        return own
    open_fields = {name: getattr(top_level, name) for name in _INHERITED if getattr(own, name) is None}
    return own.updated(open_fields)
