"""Settings of subjects in the REST API: config, mode, and associations with the resources of topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from uuid import UUID

from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, RegistrationPolicy, parse_level
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.model import Metadata, RuleSet
from counterfoil.schema.rest.object_forms import (
    FLAG,
    OPTIONAL,
    REQUIRED,
    SUBJECT,
    TEXT,
    Document,
    JsonValue,
    Member,
    ObjectForm,
    form_of,
    word_of,
)
from counterfoil.schema.rest.schemas import GUID, METADATA_OBJECT, RULE_SET_OBJECT

# The config of a registry, a context or a subject.


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


CONFIG: Final = form_of(
    Config,
    "alias",
    "alias_for_deks",
    "normalize",
    "validate_fields",
    "validate_new_schemas",
    "validate_rules",
    "compatibility_level",
    "compatibility_policy",
    "compatibility_group",
    "incompatible_versions",
    "default_metadata",
    "override_metadata",
    "default_rule_set",
    "override_rule_set",
    keys={"compatibility_level": "compatibility"},
    types={
        "compatibility_level": replace(TEXT, read=_level, write=str),
        "compatibility_policy": replace(TEXT, read=_policy, write=str),
        "default_metadata": METADATA_OBJECT,
        "override_metadata": METADATA_OBJECT,
        "default_rule_set": RULE_SET_OBJECT,
        "override_rule_set": RULE_SET_OBJECT,
    },
    about={
        "alias": "The subject that requests for this one are about.",
        "alias_for_deks": "The same, for requests about encryption keys.",
        "normalize": "Whether schemas are normalised without a request for it.",
        "validate_fields": "Whether reserved names of fields are refused.",
        "validate_new_schemas": "Whether names and defaults are checked.",
        "validate_rules": "Stored and returned, and without effect, as in Confluent's registry: "
        "rule sets are always checked.",
        "compatibility_level": "The compatibility level.",
        "compatibility_policy": "Which differences break. Another word than those of the policies unsets it.",
        "compatibility_group": "The metadata property whose value earlier versions must share to be compared.",
        "incompatible_versions": "`BRIDGED`: an incompatible version is registered together with a bridge "
        "to the latest one.",
    },
    keeps_empty=True,
)

CONFIG_KEYS: Final = {member.name: member.key for member in CONFIG.members}
"""The JSON name in an update of each field of :class:`Config`."""


def read_config(value: JsonValue) -> Config:
    """Return the config in ``value``, in which the level may have either of its two names."""
    config = CONFIG.read(value)
    level = value.optional(LEVEL_IN_FORCE, _level)
    return config if level is None else replace(config, compatibility_level=level)


def read_config_changes(value: JsonValue) -> JsonObject:
    """Return the changes of an update, by the name of the field; a null clears a field, and is None."""
    return CONFIG.read_changes(value)


def unread_settings(members: Mapping[str, object], changes: Mapping[str, object]) -> tuple[str, ...]:
    """Return the members of an update whose values are no settings, and unset their fields: unknown policies."""
    return tuple(key for name, key in CONFIG_KEYS.items() if members.get(key) is not None and changes.get(name) is None)


def config_document(config: Config) -> Document:
    """Return the JSON of the fields that ``config`` sets, with the names of an update; empty texts are included."""
    return CONFIG.write(config)


# The mode of a registry, a context or a subject.


class Mode(StrEnum):
    """The operations that a registry, a context or a subject permits."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"

    @property
    def is_read_only(self) -> bool:
        """Whether only modes can be written."""
        return self in {Mode.READONLY, Mode.READONLY_OVERRIDE}

    @property
    def takes_ids(self) -> bool:
        """Whether registrations contain their ids; their schemas are stored unchanged, without compatibility checks."""
        return self in {Mode.IMPORT, Mode.FORWARD}


def _mode(value: JsonValue) -> Mode:
    return value.one_of(Mode, any_case=True)


def read_mode(value: JsonValue) -> Mode | None:
    """Return the mode in ``value``; None if there is none, as after a recursive deletion of one that was not set."""
    return value.optional("mode", _mode)


# Associations: the subjects of the schemas of a topic's keys or values, and the owners of these subjects.
#
# Source: Confluent's description of the Schema Registry REST API, associations.

TOPIC: Final = "topic"
"""The only type of resource."""

WILDCARD: Final = "-"
"""The value for any name, or any namespace, in a look-up by name."""


class AssociationType(StrEnum):
    """The part of a topic's records that an association is about."""

    KEY = "key"
    VALUE = "value"


class Lifecycle(StrEnum):
    """The ownership of the subject."""

    STRONG = "STRONG"
    """It belongs to one resource: it has the resource's name and is deleted with it."""
    WEAK = "WEAK"
    """It belongs to no resource: resources may share it, and it is kept when they are deleted."""

    @property
    def freezes(self) -> bool:
        """Whether an association is frozen by default."""
        return self is Lifecycle.STRONG


@dataclass(frozen=True, slots=True, order=True)
class Resource:
    """The resource of an association: a topic, in the namespace of its cluster, with an id."""

    name: str
    namespace: str
    type: str
    id: str

    def subject_of(self, association_type: AssociationType) -> QualifiedSubject:
        """Return the subject that belongs to this resource only: ``:.namespace:name-type``."""
        return QualifiedSubject(f".{self.namespace}", f"{self.name}-{association_type}")

    def __str__(self) -> str:
        return f"{self.type} {self.namespace}/{self.name} ({self.id})"


@dataclass(frozen=True, slots=True)
class Association:
    """The association of one subject with one resource. Times are epoch milliseconds; ``guid`` is the association's."""

    subject: QualifiedSubject
    guid: UUID
    resource: Resource
    type: AssociationType
    lifecycle: Lifecycle
    frozen: bool
    create_ts: int
    update_ts: int

    @property
    def sort_key(self) -> tuple[str, ...]:
        """The sort key: name, namespace, type of resource, type of association, subject, id."""
        resource = self.resource
        return resource.name, resource.namespace, resource.type, self.type, str(self.subject), resource.id


_FROZEN: Final = Member(
    "frozen", "frozen", FLAG, about="Absent if it is the default of the lifecycle: true for STRONG, false for WEAK."
)

RESOURCE: Final = form_of(
    Resource,
    "name",
    "namespace",
    "id",
    "type",
    keys={"name": "resourceName", "namespace": "resourceNamespace", "id": "resourceId", "type": "resourceType"},
    about={
        "name": "Letters, digits, `_` and `-`, at most 256.",
        "namespace": "The namespace of the cluster.",
        "type": "The type of the resource: `topic`.",
    },
    keeps_empty=True,
)
"""The members that identify a resource."""

BOND: Final = ObjectForm(
    Association,
    (
        Member("subject", "subject", SUBJECT, otherwise=REQUIRED, about="The qualified name, `:.context:name`."),
        Member("associationType", "type", word_of(AssociationType), otherwise=REQUIRED, about="key or value."),
        Member("lifecycle", "lifecycle", word_of(Lifecycle), otherwise=REQUIRED, about="STRONG or WEAK."),
        _FROZEN,
    ),
)
"""The members about the subject and its part in the resource."""

HISTORY: Final = form_of(
    Association,
    "guid",
    "create_ts",
    "update_ts",
    types={"guid": GUID},
    otherwise={"create_ts": OPTIONAL, "update_ts": OPTIONAL},
    about={
        "create_ts": "The time of its creation, in epoch milliseconds.",
        "update_ts": "The time of its last change, in epoch milliseconds.",
    },
)
"""The identity of an association in one registry, and its times there."""


def association_document(association: Association) -> Document:
    """Return the JSON of an association, with ``frozen`` only if it is not the lifecycle's default."""
    return {**bond_document(association), **RESOURCE.write(association.resource), **HISTORY.write(association)}


def bond_document(association: Association) -> Document:
    """Return the JSON of an association without the members of its resource, its guid and its times."""
    document = BOND.write(association)
    if association.frozen == association.lifecycle.freezes:
        del document[_FROZEN.key]
    return document


def read_association(value: JsonValue) -> Association:
    """Return the association in a response; times that it does not have are 0."""
    bond = BOND.read_fields(value)
    defaults = {"frozen": bond["lifecycle"].freezes, "create_ts": 0, "update_ts": 0}
    return Association(resource=RESOURCE.read(value), **{**defaults, **bond, **HISTORY.read_fields(value)})


def new_association_document(association: Association) -> Document:
    """Return the request that creates ``association``, without a schema."""
    return {**RESOURCE.write(association.resource), "associations": [BOND.write(association)]}
