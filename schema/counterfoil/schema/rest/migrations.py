"""Migrations of contracts as objects of the registry: intended breaks, and what still hinders each of them.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from counterfoil.schema.rest.bridges import GATE, BridgeState, Direction, Gate
from counterfoil.schema.rest.object_forms import (
    FLAG,
    INTEGER,
    REQUIRED,
    TEXT,
    TEXTS,
    Member,
    ObjectForm,
    list_of,
    word_of,
)
from counterfoil.schema.rest.verdicts import CONSUMER, Consumer


@dataclass(frozen=True, slots=True)
class ContractMigration:
    """An intended break of a contract, from the major version ``source`` to ``target``.

    ``bridge`` converts the records, and ``application`` is the program that runs it. Until the end of the day
    ``sunset`` (``YYYY-MM-DD``, in UTC; empty for no end) consumers of one version may read through the bridge what is
    written in the other.
    """

    id: str
    contract: str
    source: str
    target: str
    bridge: str
    application: str
    sunset: str = ""
    create_ts: int = 0


@dataclass(frozen=True, slots=True)
class MigrationStatus(ContractMigration):
    """A migration as it stands: its bridge, where the converter is live, and who still reads the old version.

    ``state``, ``direction`` and the subjects are those of the bridge; None or empty while it is not registered. ``lag``
    is the number of offsets that are still to be converted; None if it is not known. ``hindrances`` are sentences about
    what is missing in every environment.
    """

    state: BridgeState | None = None
    direction: Direction | None = None
    source_subject: str = ""
    target_subject: str = ""
    environments: tuple[str, ...] = ()
    lag: int | None = None
    is_verified: bool = False
    is_expired: bool = False
    gates: tuple[Gate, ...] = ()
    hindrances: tuple[str, ...] = ()
    consumers: tuple[Consumer, ...] = ()


MIGRATION: Final = ObjectForm(
    ContractMigration,
    (
        Member("id", "id", TEXT, otherwise=REQUIRED),
        Member("contract", "contract", TEXT, otherwise=REQUIRED, about="The id of the contract."),
        Member("from", "source", TEXT, otherwise=REQUIRED, about="The old major version."),
        Member("to", "target", TEXT, otherwise=REQUIRED, about="The new major version."),
        Member("bridge", "bridge", TEXT, otherwise=REQUIRED, about="The name of the bridge under /bridges/v1."),
        Member("application", "application", TEXT, otherwise=REQUIRED, about="The application that runs the bridge."),
        Member("sunset", "sunset", TEXT, about="The last day of the migration, in UTC; absent for no end."),
        Member("createTs", "create_ts", INTEGER, about="The time of its creation, in epoch milliseconds."),
    ),
)

MIGRATION_STATUS: Final = ObjectForm(
    MigrationStatus,
    (
        *MIGRATION.members,
        Member("state", "state", word_of(BridgeState), about="The state of the bridge; absent without one."),
        Member("direction", "direction", word_of(Direction), about="Of the bridge: new-to-old or old-to-new."),
        Member("sourceSubject", "source_subject", TEXT, about="The subject whose records are converted."),
        Member("targetSubject", "target_subject", TEXT, about="The subject of the converted records."),
        Member("environments", "environments", TEXTS, about="Where the application is live."),
        Member("lag", "lag", INTEGER, about="Offsets that are still to be converted; absent if not known."),
        Member("verified", "is_verified", FLAG, otherwise=REQUIRED, about="Whether a recent verification passed."),
        Member("expired", "is_expired", FLAG, otherwise=REQUIRED, about="Whether the last day is over."),
        Member("gates", "gates", list_of(GATE), about="The conditions of the bridge that count for verdicts."),
        Member("hindrances", "hindrances", TEXTS, about="What is missing in every environment."),
        Member("consumers", "consumers", list_of(CONSUMER), about="Live consumers of the old version."),
    ),
    keeps_empty=True,
)
