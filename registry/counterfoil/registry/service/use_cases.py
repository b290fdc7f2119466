"""All use cases over one storage."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.observed import ActivityLimits
from counterfoil.registry.service.admission import Admission
from counterfoil.registry.service.associations.index import AssociationIndex, SubjectGuard
from counterfoil.registry.service.associations.use_cases import Associations
from counterfoil.registry.service.bridges.acceptance import BridgeAcceptance
from counterfoil.registry.service.bridges.draft import Drafting
from counterfoil.registry.service.bridges.planning import BridgePlans
from counterfoil.registry.service.bridges.records import BridgeRecords
from counterfoil.registry.service.bridges.use_cases import Bridges
from counterfoil.registry.service.catalog import Catalog
from counterfoil.registry.service.compatibility import CompatibilityCheck, CompatibilityTest
from counterfoil.registry.service.config_and_mode import ConfigAndMode
from counterfoil.registry.service.contracts.use_cases import Contracts, contract_use_cases
from counterfoil.registry.service.deletion import Deletion
from counterfoil.registry.service.judging import LongJudgements
from counterfoil.registry.service.keys.deks import Deks
from counterfoil.registry.service.keys.keks import Keks, KeyLimit
from counterfoil.registry.service.keys.records import KeyRecords
from counterfoil.registry.service.keys.wrapping import KeyWrapping
from counterfoil.registry.service.lookup import Lookup
from counterfoil.registry.service.matching import Matcher
from counterfoil.registry.service.reading import MAX_TEXTS, SchemaReader
from counterfoil.registry.service.registration import Registration
from counterfoil.registry.service.retrying import Turns
from counterfoil.registry.service.scopes import Scopes
from counterfoil.registry.service.sketches import Sketches
from counterfoil.registry.service.tag_version import TagVersion
from counterfoil.registry.settings import DEFAULT_MAX_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.registry.domain.contracts.networks import Network
    from counterfoil.registry.service.storage import Storage

DEFAULT_MEMORY_CHARS = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class UseCases:
    """The use cases of the registry; ``associations`` is None if they are turned off.

    ``kafka_cluster_id`` is the id of the registry's Kafka cluster; it may be empty. ``long`` carries out judgements
    that take long.
    """

    storage: Storage
    reader: SchemaReader
    scopes: Scopes
    registration: Registration
    tagging: TagVersion
    lookup: Lookup
    catalog: Catalog
    deletion: Deletion
    settings: ConfigAndMode
    compatibility: CompatibilityTest
    associations: Associations | None
    bridges: Bridges
    sketches: Sketches
    contracts: Contracts
    keks: Keks
    deks: Deks
    kafka_cluster_id: str
    long: LongJudgements


def epoch_ms() -> int:
    """Return the time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def use_cases(
    storage: Storage,
    *,
    memory_chars: int = DEFAULT_MEMORY_CHARS,
    reader: SchemaReader | None = None,
    wrapping: KeyWrapping | None = None,
    max_keys: int = DEFAULT_MAX_KEYS,
    associations: bool = True,
    kafka_cluster_id: str = "",
    limits: ActivityLimits | None = None,
    webhook_networks: Sequence[Network] = (),
    now_ms: Callable[[], int] = epoch_ms,
    long: LongJudgements | None = None,
) -> UseCases:
    """Return the use cases over ``storage``; ``memory_chars`` limits the cached parsed schemas.

    ``reader`` is a reader of the same storage, used instead of a new one. ``wrapping`` uses the keys that are shared
    with the registry; without it shared keys cannot be used. ``max_keys`` limits the number of keys. Without
    ``associations`` their requests are refused and they affect nothing. ``limits`` are those after which readers count
    as stale; webhooks may be sent to ``webhook_networks``, too. ``now_ms`` is the clock (epoch ms). ``long`` carries
    out judgements that take long; by default in threads.
    """
    scopes = Scopes(storage)
    keys = KeyRecords(storage)
    limit = KeyLimit(keys, max_keys=max_keys)
    wrapping = wrapping or KeyWrapping({})
    long = long or LongJudgements()
    texts = long.queue(max_waiting=MAX_TEXTS) if long.judges.are_apart else None
    reader = reader or SchemaReader(storage, memory_chars=memory_chars, large=texts)
    matcher = Matcher(reader)
    check = CompatibilityCheck(reader, long)
    index = AssociationIndex(storage) if associations else None
    guard = SubjectGuard(index)
    turns = Turns(storage.catch_up)
    bridges = BridgeRecords(storage)
    contracts = contract_use_cases(
        storage,
        scopes=scopes,
        reader=reader,
        check=check,
        bridges=bridges,
        limits=limits or ActivityLimits(),
        webhook_networks=webhook_networks,
        now_ms=now_ms,
        long=long,
    )
    admission = Admission(check, gate=contracts.gate)
    registration = Registration(
        storage,
        scopes=scopes,
        reader=reader,
        matcher=matcher,
        admission=admission,
        guard=guard,
        acceptance=BridgeAcceptance(bridges),
        turns=turns,
    )
    catalog = Catalog(storage, reader=reader)
    plans = BridgePlans(long)
    return UseCases(
        storage=storage,
        reader=reader,
        scopes=scopes,
        registration=registration,
        tagging=TagVersion(storage, registration=registration, catalog=catalog),
        lookup=Lookup(storage, scopes=scopes, reader=reader, matcher=matcher),
        catalog=catalog,
        deletion=Deletion(storage, scopes=scopes, guard=guard, turns=turns),
        settings=ConfigAndMode(storage, scopes=scopes),
        compatibility=CompatibilityTest(storage, scopes=scopes, reader=reader, check=check, admission=admission),
        associations=None
        if index is None
        else Associations(storage, index=index, scopes=scopes, reader=reader, registration=registration),
        bridges=Bridges(
            storage,
            records=bridges,
            scopes=scopes,
            reader=reader,
            drafting=Drafting(storage, reader=reader, registration=registration, plans=plans),
            plans=plans,
            now_ms=now_ms,
        ),
        sketches=Sketches(storage, scopes=scopes, long=long),
        contracts=contracts,
        keks=Keks(keys, scopes=scopes, wrapping=wrapping, limit=limit, now_ms=now_ms),
        deks=Deks(keys, scopes=scopes, wrapping=wrapping, limit=limit, now_ms=now_ms),
        kafka_cluster_id=kafka_cluster_id,
        long=long,
    )
