"""Agreements as values: a producer's contract with its promises, a consumer with what it reads.

``position`` is always the place in the file. Paths of fields are :mod:`counterfoil.schema.paths`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.compatibility import CompatibilityLevel
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
    """What a consumer says that it does with a value of an enum that it does not know.

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
    """What a contract promises of one field. ``enum`` is None where values are not listed.

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
    """What is promised of a record's key: its subject, its schema file, and the field that it is equal to."""

    subject: str | None = None
    field: str | None = None
    schema: SchemaLink | None = None


@dataclass(frozen=True, slots=True)
class HeaderPromise:
    """What is promised of one header."""

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
    """What a contract promises of one topic: one entry of its ``schema``.

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
        """Return what is promised of the field at ``path``; None if nothing is."""
        return next((each for each in self.fields if each.path == path), None)

    def header(self, name: str) -> HeaderPromise | None:
        """Return what is promised of a header; None if nothing is."""
        return next((each for each in self.headers if each.name == name), None)


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """One promised property of the service, such as freshness; ``element`` is what it is about."""

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
    """One path that a consumer reads, and what it expects there. ``when_present``: the field may be missing.

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
    """What a consumer expects of one contract: an input port. ``reads`` is None for the whole record.

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
    """One mistake in a file: ``rule`` is its id, ``problem`` says what is wrong and what would be right.

    ``repair`` is what is meant, where that is certain.
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
