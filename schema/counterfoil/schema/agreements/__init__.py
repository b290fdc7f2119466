"""Agreements as values: a producer's contract with its promises, a consumer with its reads; rules about both.

``position`` is always the place in the file. Paths of fields are :mod:`counterfoil.schema.paths`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.compatibility.findings import CONSUMER_UNDECIDED
from counterfoil.schema.paths import FieldPath
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.documents import Repair


Scalar: TypeAlias = "str | int | float | bool | None"
_PERSONAL: Final = "pii"


class EnumPolicy(StrEnum):
    """Whether values may be added to an enum: to an ``OPEN`` one, while it breaks consumers of a ``CLOSED`` one."""

    OPEN = "open"
    CLOSED = "closed"


class OnUnknownEnum(StrEnum):
    """How a consumer says that it treats a value of an enum that it does not know.

    Where it says nothing, the rule of the language decides.
    """

    FAIL = "fail"
    """It fails, also where its language would read the value."""
    DEFAULT = "default"
    """It uses another value instead."""
    PASS = "pass"  # noqa: S105 - no password
    """It passes the value on."""


@dataclass(frozen=True, slots=True)
class ValueRange:
    """Limits of values; None where there is none. Dates and times are texts. ``is_open_…``: the limit is excluded."""

    minimum: int | float | str | None = None
    maximum: int | float | str | None = None
    is_open_below: bool = False
    is_open_above: bool = False

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self.minimum is not None or self.maximum is not None

    def __str__(self) -> str:
        low = "" if self.minimum is None else f"{'>' if self.is_open_below else '>='} {self.minimum}"
        high = "" if self.maximum is None else f"{'<' if self.is_open_above else '<='} {self.maximum}"
        return " and ".join(each for each in (low, high) if each) or "any value"


@dataclass(frozen=True, slots=True)
class EnumValue:
    """A value of an enum, with its meaning in words; empty if the file says nothing."""

    value: Scalar
    description: str = ""
    position: Position | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FieldPromise:
    """The promises of a contract about one field. ``enum`` is None where values are not listed.

    ``description`` is for people. ``places`` are those of the keys, and of our own properties, that say more than one
    thing about the field.
    """

    path: FieldPath
    position: Position
    logical_type: str | None = None
    is_required: bool = False
    is_unique: bool = False
    range: ValueRange = ValueRange()
    pattern: str | None = None
    enum: tuple[EnumValue, ...] | None = None
    enum_policy: EnumPolicy | None = None
    unit: str | None = None
    is_deprecated: bool = False
    classification: str | None = None
    tags: tuple[str, ...] = ()
    description: str = ""
    places: Mapping[str, Position] = field(default_factory=dict, compare=False)

    @property
    def is_personal(self) -> bool:
        """Whether the field is tagged as personal data: ``pii``, or a tag that begins with ``pii.``."""
        return any(tag == _PERSONAL or tag.startswith(f"{_PERSONAL}.") for tag in self.tags)


@dataclass(frozen=True, slots=True)
class SchemaLink:
    """The schema file that a contract or expectation refers to, as written: a path from the file, or an address."""

    url: str
    position: Position

    @property
    def is_file(self) -> bool:
        """Whether it is a path, and no address."""
        return "://" not in self.url


@dataclass(frozen=True, slots=True)
class KeyPromise:
    """The promise about a record's key: its subject, its schema file, and the field that it is equal to."""

    subject: str | None = None
    field: str | None = None
    schema: SchemaLink | None = None


@dataclass(frozen=True, slots=True)
class HeaderPromise:
    """The promises about one header."""

    name: str
    is_required: bool = False
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class QualityRule:
    """One quality rule; ``path`` is that of its field, empty for the record. ``limits`` are its ``mustBe…`` keys.

    ``is_percent``: the limits are shares of the records, and not numbers of them.
    """

    position: Position
    type: str
    path: FieldPath = ()
    id: str | None = None
    engine: str | None = None
    implementation: str | None = None
    metric: str | None = None
    is_percent: bool = False
    severity: str | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)
    limits: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Promise:
    """The promises of a contract about one topic: one entry of its ``schema``.

    ``places`` are those of our own properties.
    """

    name: str
    topic: str
    subject: str
    position: Position
    level: CompatibilityLevel | None = None
    schema: SchemaLink | None = None
    key: KeyPromise | None = None
    headers: tuple[HeaderPromise, ...] = ()
    fields: tuple[FieldPromise, ...] = ()
    quality: tuple[QualityRule, ...] = ()
    places: Mapping[str, Position] = field(default_factory=dict, compare=False)

    def field(self, path: FieldPath) -> FieldPromise | None:
        """Return the promises about the field at ``path``; None if there are none."""
        return next((each for each in self.fields if each.path == path), None)

    def header(self, name: str) -> HeaderPromise | None:
        """Return the promises about a header; None if there are none."""
        return next((each for each in self.headers if each.name == name), None)


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """One promised property of the service, such as freshness; ``element`` is its subject."""

    property: str
    value: Scalar
    unit: str | None = None
    element: str | None = None
    position: Position | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Server:
    """A place where a contract's topics are; ``registry`` is the address of the registry with their schemas.

    ``host`` is the address of a broker.
    """

    name: str
    type: str
    environment: str | None = None
    registry: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Migration:
    """An intended break: records of one major version become those of another by a converter, until ``sunset``."""

    source: str
    target: str
    converter: str
    sunset: date | None
    position: Position


def major_of(version: str) -> str:
    """Return the major version, by which consumers refer to contracts.

    >>> major_of("v2.1.0"), major_of("2")
    ('2', '2')
    """
    return version.removeprefix("v").partition(".")[0]


@dataclass(frozen=True, slots=True)
class Contract:
    """A producer's contract: an ODCS file. ``owner`` is the name of its team.

    ``description`` has texts for people, such as its purpose, by their names in the file. ``places`` are those of the
    keys at the top.
    """

    id: str
    version: str
    status: str | None
    position: Position
    name: str | None = None
    owner: str | None = None
    promises: tuple[Promise, ...] = ()
    service_levels: tuple[ServiceLevel, ...] = ()
    servers: tuple[Server, ...] = ()
    migrations: tuple[Migration, ...] = ()
    description: Mapping[str, str] = field(default_factory=dict, compare=False)
    places: Mapping[str, Position] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class ExpectedRead:
    """One path that a consumer reads, and its expectations there. ``when_present``: the field may be missing.

    ``places`` are those of the keys that say more about the path.
    """

    path: FieldPath
    position: Position
    is_required: bool = False
    type: str | None = None
    range: ValueRange = ValueRange()
    pattern: str | None = None
    enum: tuple[Scalar, ...] | None = None
    unit: str | None = None
    when_present: bool = False
    places: Mapping[str, Position] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expectations of a consumer about one contract: an input port. ``reads`` is None for the whole record.

    ``on_unknown_enum`` is None where it is not written.

    ``places`` are those of the keys, and of our own properties.
    """

    name: str
    contract_id: str
    version: str
    position: Position
    reads: tuple[ExpectedRead, ...] | None = None
    reader_schema: SchemaLink | None = None
    on_unknown_enum: OnUnknownEnum | None = None
    consumer_groups: tuple[str, ...] = ()
    reprocesses_from: str | None = None
    is_pinned: bool = False
    tags: tuple[str, ...] = ()
    places: Mapping[str, Position] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class DataProduct:
    """A consumer: an ODPS file. ``owner`` is the name of its team. ``places`` are those of the keys at the top."""

    id: str
    version: str | None
    status: str
    position: Position
    name: str | None = None
    owner: str | None = None
    expectations: tuple[Expectation, ...] = ()
    places: Mapping[str, Position] = field(default_factory=dict, compare=False)


Agreement: TypeAlias = Contract | DataProduct


@dataclass(frozen=True, slots=True)
class AgreementFault:
    """One mistake in a file: ``rule`` is its id, ``problem`` is a sentence about the mistake and its correction.

    ``repair`` is the text that is meant, where that is certain.
    """

    rule: str
    problem: str
    position: Position | None
    repair: Repair | None = None


@dataclass(frozen=True, slots=True)
class AgreementReading:
    """A file that was read: the agreement, or None where the file is no valid one, and all mistakes in it."""

    agreement: Agreement | None
    faults: tuple[AgreementFault, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadRule:
    """A rule: whether a finding ``is_breaking`` (else it is a warning), ``why``, and how to ``fix`` it."""

    id: str
    is_breaking: bool
    why: str
    fix: str


UNDECIDED: Final = CONSUMER_UNDECIDED
"""The rule of a comparison that did not end within its limits, so that the answer is unknown."""

RULES: Final = (
    ReadRule(
        "consumer-field-missing",
        is_breaking=True,
        why="A consumer reads a field that the new schema does not have.",
        fix="Keep the field and deprecate it until nobody reads it, or approve the break with a converter.",
    ),
    ReadRule(
        "consumer-type-narrowed",
        is_breaking=True,
        why="A consumer relies on a type that values of the new schema do not always have.",
        fix="Add a new field with the new type, and deprecate this one.",
    ),
    ReadRule(
        "consumer-incompatible",
        is_breaking=True,
        why="A consumer that reads the whole record cannot read records of the new schema, or the new schema is in "
        "another language than the one that a consumer reads.",
        fix="Declare which fields the consumer reads, or keep the schemas compatible.",
    ),
    ReadRule(
        "consumer-nullable",
        is_breaking=True,
        why="A consumer requires a value, and records of the new schema may be without it.",
        fix="Keep the field required.",
    ),
    ReadRule(
        "consumer-enum-unknown",
        is_breaking=True,
        why="A consumer fails on values of an enum that it does not know, and the new schema has more than it lists. "
        "It says so (onUnknownEnum: fail), or its language refuses them and it does not say that it handles them.",
        fix="Let the consumer handle unknown values first (onUnknownEnum: default, and in Avro a default in its enum), "
        "then add the value.",
    ),
    ReadRule(
        "consumer-enum-kept",
        is_breaking=False,
        why="The new schema has a value of an enum that a consumer does not know, and the consumer does not say what "
        "it does with it. Its language does not fail: Protobuf keeps the number, Avro reads the default of the enum.",
        fix="Write onUnknownEnum in the consumer's file: fail if it must not meet the value, else default or pass.",
    ),
    ReadRule(
        UNDECIDED,
        is_breaking=False,
        why="The comparison of the new schema with that of a consumer ended at its limits, so that it is not "
        "known whether the consumer can read its records.",
        fix="Take alternatives, references or nested types out of the schema, so that it can be compared.",
    ),
    ReadRule(
        "expectation-broken",
        is_breaking=True,
        why="What a consumer expects of a value contradicts what the contract promises.",
        fix="Promise what the consumer expects, or agree on another expectation.",
    ),
    ReadRule(
        "expectation-unbacked",
        is_breaking=False,
        why="A consumer expects something of a value that the contract does not promise, so that it may end any day.",
        fix="Ask the producer to promise it in the contract.",
    ),
    ReadRule(
        "unit-changed",
        is_breaking=True,
        why="The unit of a field changes, so that every consumer computes with wrong numbers without an error.",
        fix="Add a new field with the new unit, and deprecate this one.",
    ),
    ReadRule(
        "enum-symbol-added-closed",
        is_breaking=True,
        why="A value is added to an enum that the contract declares as closed.",
        fix="Agree with the consumers, and declare the enum as open first.",
    ),
    ReadRule(
        "enum-meaning-changed",
        is_breaking=False,
        why="A value of an enum has another description, so that its meaning may have changed.",
        fix="If the meaning changed, add a new value; otherwise nothing needs to be done.",
    ),
    ReadRule(
        "pii-tag-removed",
        is_breaking=True,
        why="A field is no longer tagged as personal data, so that nobody protects it any more.",
        fix="Keep the tag, or have the owner confirm that the field holds no personal data.",
    ),
    ReadRule(
        "pii-newly-read",
        is_breaking=False,
        why="A consumer newly reads a field that is tagged as personal data.",
        fix="Have the owner of the field agree.",
    ),
    ReadRule(
        "key-changed",
        is_breaking=True,
        why="The key of the records changes, so that partitions, joins and compaction change for every consumer.",
        fix="Write the new key to a new topic.",
    ),
    ReadRule(
        "key-schema-changed",
        is_breaking=False,
        why="The keys get another schema, and with it another schema id in their bytes. Kafka's partitioner computes "
        "the partition from the bytes, so that later records of a key may be in another partition than earlier ones, "
        "which ends their order, and compaction takes both for different keys. This does not apply to keys whose "
        "schema id is in a header, or that are written without one.",
        fix="Keep the schema of the keys, or write the new keys to a new topic.",
    ),
    ReadRule(
        "header-missing",
        is_breaking=True,
        why="A header that was promised, or that a consumer reads, is no longer promised.",
        fix="Keep the header.",
    ),
)
RULE_BY_ID: Final[Mapping[str, ReadRule]] = {rule.id: rule for rule in RULES}
