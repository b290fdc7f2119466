"""The config of a registry, a context or a subject."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.levels import CompatibilityLevel, parse_level
from counterfoil.schema.compatibility.policies import CompatibilityPolicy, RegistrationPolicy
from counterfoil.schema.rest.object_forms import FLAG, TEXT, Member, ObjectForm, word_of
from counterfoil.schema.rest.schemas import METADATA_OBJECT, RULE_SET_OBJECT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.model import Metadata, RuleSet
    from counterfoil.schema.rest.json_values import JsonValue
    from counterfoil.schema.rest.object_forms import Document


class IncompatibleVersions(StrEnum):
    """What happens to a new version that the compatibility level does not permit. It is this project's own setting."""

    REFUSED = "REFUSED"
    """It is refused, as in other registries."""
    BRIDGED = "BRIDGED"
    """It is registered if a bridge converts its records to the latest version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The settings of a registry, a context or a subject.

    None: not set here (when read), not changed (when written).
    """

    compatibility_level: CompatibilityLevel | None = None
    compatibility_policy: str | None = None
    compatibility_group: str | None = None
    incompatible_versions: IncompatibleVersions | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_new_schemas: bool | None = None
    validate_rules: bool | None = None
    alias: str | None = None
    alias_for_deks: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None


LEVEL_IN_FORCE: Final = "compatibilityLevel"
"""The name of the level in responses to GET and DELETE; elsewhere it is ``compatibility``."""


def _level(value: JsonValue) -> CompatibilityLevel:
    return value.parsed(parse_level, f"one of {', '.join(CompatibilityLevel)}")


def _policy(value: JsonValue) -> str | None:
    return value.known_word(RegistrationPolicy) or value.known_word(CompatibilityPolicy)


CONFIG: Final = ObjectForm(
    Config,
    (
        Member("alias", "alias", TEXT, about="The subject that requests for this one are about."),
        Member("aliasForDeks", "alias_for_deks", TEXT, about="The same, for requests about encryption keys."),
        Member("normalize", "normalize", FLAG, about="Whether schemas are normalised without a request for it."),
        Member("validateFields", "validate_fields", FLAG, about="Whether reserved names of fields are refused."),
        Member("validateNewSchemas", "validate_new_schemas", FLAG, about="Whether names and defaults are checked."),
        Member(
            "validateRules",
            "validate_rules",
            FLAG,
            about="Stored and returned, and without effect, as in Confluent's registry: rule sets are always checked.",
        ),
        Member(
            "compatibility",
            "compatibility_level",
            replace(TEXT, read=_level, write=str),
            about="The compatibility level.",
        ),
        Member(
            "compatibilityPolicy",
            "compatibility_policy",
            replace(TEXT, read=_policy, write=str),
            about="Which differences break. Another word than those of the policies unsets it.",
        ),
        Member(
            "compatibilityGroup",
            "compatibility_group",
            TEXT,
            about="The metadata property whose value earlier versions must share to be compared.",
        ),
        Member(
            "incompatibleVersions",
            "incompatible_versions",
            word_of(IncompatibleVersions),
            about="`BRIDGED`: an incompatible version is registered together with a bridge to the latest one.",
        ),
        Member("defaultMetadata", "default_metadata", METADATA_OBJECT),
        Member("overrideMetadata", "override_metadata", METADATA_OBJECT),
        Member("defaultRuleSet", "default_rule_set", RULE_SET_OBJECT),
        Member("overrideRuleSet", "override_rule_set", RULE_SET_OBJECT),
    ),
    keeps_empty=True,
)

CONFIG_KEYS: Final = {member.name: member.key for member in CONFIG.members}
"""The JSON name in an update of each field of :class:`Config`."""


def read_config(value: JsonValue) -> Config:
    """Return the config in ``value``, in which the level may have either of its two names."""
    config = CONFIG.read(value)
    level = value.optional(LEVEL_IN_FORCE, _level)
    return config if level is None else replace(config, compatibility_level=level)


def read_config_changes(value: JsonValue) -> dict[str, Any]:
    """Return the changes of an update, by the name of the field; a null clears a field, and is None."""
    return CONFIG.read_changes(value)


def unread_settings(members: Mapping[str, Any], changes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the members of an update whose values are no settings, and unset their fields: unknown policies."""
    return tuple(key for name, key in CONFIG_KEYS.items() if members.get(key) is not None and changes.get(name) is None)


def config_document(config: Config) -> Document:
    """Return the JSON of the fields that ``config`` sets, with the names of an update; empty texts are included."""
    return CONFIG.write(config)
