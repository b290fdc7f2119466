"""What happens to a fleet, as values that can be replayed, shortened and printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strategies.fleets.shapes import Path, Shape


@dataclass(frozen=True, slots=True)
class FieldRead:
    """A place that a consumer reads."""

    path: Path
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """What a version of a producer writes to a topic; ``key`` is the schema of the keys, if there are any."""

    topic: str
    shape: Shape
    key: Shape | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """What a version of a consumer reads of a topic; None is the whole record.

    ``declared`` is its reader schema, ``on_unknown_enum`` is empty where nothing is written.
    """

    topic: str
    reads: tuple[FieldRead, ...] | None = None
    declared: Shape | None = None
    on_unknown_enum: str = ""
    is_from_start: bool = False
    key_reads: tuple[FieldRead, ...] = ()


@dataclass(frozen=True, slots=True)
class Publish:
    """A version of an application is published; ``number`` makes the versions of contracts, one for each event."""

    application: str
    version: str
    number: int
    offers: tuple[Offer, ...] = ()
    ports: tuple[Port, ...] = ()


@dataclass(frozen=True, slots=True)
class Deploy:
    """A version is deployed or released, whether it may be or not; ``is_approved``: all breaks are approved before."""

    environment: str
    application: str
    version: str
    instance: str = ""
    is_release: bool = False
    is_approved: bool = False


@dataclass(frozen=True, slots=True)
class Undeploy:
    """A version is no longer live anywhere in an environment."""

    environment: str
    application: str
    version: str


@dataclass(frozen=True, slots=True)
class Retain:
    """The topic still has records of schemas, all of which were counted in an environment."""

    environment: str
    topic: str
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class CanDeploy:
    """The question whether a version may be deployed."""

    environment: str
    application: str
    version: str


@dataclass(frozen=True, slots=True)
class CanRegister:
    """The question whether a schema may be registered where the consumers decide."""

    topic: str
    shape: Shape


Event = Publish | Deploy | Undeploy | Retain
Question = CanDeploy | CanRegister


@dataclass(frozen=True, slots=True)
class Story:
    """Events and questions, in their order, about topics of one language."""

    language: str
    steps: tuple[Event | Question, ...]
