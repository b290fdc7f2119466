"""All use cases of inspection over one storage."""

from __future__ import annotations

from dataclasses import dataclass

from counterfoil.registry.associations.records import AssociationIndex
from counterfoil.registry.bridges.records import BridgeRecords
from counterfoil.registry.changes.as_of import AsOf
from counterfoil.registry.contracts.publishing import Library
from counterfoil.registry.contracts.records import ContractRecords
from counterfoil.registry.contracts.verdicts.proposals import ConsumerGate
from counterfoil.registry.contracts.verdicts.sides import Consumers
from counterfoil.registry.inspection.belongings import SubjectAliases, SubjectBelongings
from counterfoil.registry.inspection.comparisons import ComparisonPages
from counterfoil.registry.inspection.decoding import DecodingPages
from counterfoil.registry.inspection.facts import DerivedFacts
from counterfoil.registry.inspection.identifiers import IdentifierPages
from counterfoil.registry.inspection.refusals import RefusalPages, RefusalRecords
from counterfoil.registry.inspection.steps import VersionSteps
from counterfoil.registry.inspection.subjects import SubjectPages
from counterfoil.registry.inspection.versions import VersionPages
from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.registry.keys.records import KeyRecords
from counterfoil.registry.search.searching import Searching
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.catalog import Catalog
from counterfoil.registry.subjects.compatibility import Admission, CompatibilityCheck
from counterfoil.registry.subjects.levels import Scopes
from counterfoil.registry.subjects.reading import Matcher, SchemaReader


@dataclass(frozen=True, slots=True)
class Inspection:
    """The use cases of inspection."""

    subjects: SubjectPages
    versions: VersionPages
    identifiers: IdentifierPages
    comparisons: ComparisonPages
    decoding: DecodingPages
    refusals: RefusalPages
    facts: DerivedFacts


@dataclass(frozen=True, slots=True)
class RelatedRecords:
    """Where what belongs to subjects is read; ``index`` is None if associations are turned off."""

    index: AssociationIndex | None
    bridges: BridgeRecords
    keys: KeyRecords
    contracts: ContractRecords
    library: Library
    consumers: Consumers
    gate: ConsumerGate


def inspection_over(
    storage: Storage,
    *,
    scopes: Scopes,
    reader: SchemaReader,
    matcher: Matcher,
    check: CompatibilityCheck,
    admission: Admission,
    catalog: Catalog,
    long: LongJudgements,
    refusals: RefusalRecords | None,
    records: RelatedRecords,
    search: Searching,
    facts: DerivedFacts | None,
) -> Inspection:
    """Return the use cases of inspection; over the past, what belongs to subjects is not known.

    ``facts`` are those of other use cases over the same store, if there are some.
    """
    facts = facts or DerivedFacts()
    is_past = isinstance(storage, AsOf)
    belongings = None
    if not is_past:
        belongings = SubjectBelongings(
            aliases=SubjectAliases(storage),
            index=records.index,
            bridges=records.bridges,
            keys=records.keys,
            contracts=records.contracts,
            library=records.library,
            consumers=records.consumers,
        )
    refused = RefusalPages(None if is_past else refusals, scopes=scopes)
    subjects = SubjectPages(
        storage,
        reader=reader,
        scopes=scopes,
        catalog=catalog,
        steps=VersionSteps(reader, long, facts),
        belongings=belongings,
        refusals=refused,
        search=search,
    )
    identifiers = IdentifierPages(storage, reader=reader, facts=facts)
    comparisons = ComparisonPages(
        storage,
        scopes=scopes,
        reader=reader,
        matcher=matcher,
        check=check,
        admission=admission,
        gate=records.gate,
        belongings=belongings,
        long=long,
        facts=facts,
    )
    return Inspection(
        subjects=subjects,
        versions=VersionPages(
            storage,
            reader=reader,
            subjects=subjects,
            identifiers=identifiers,
            belongings=belongings,
            long=long,
            search=search,
            facts=facts,
        ),
        identifiers=identifiers,
        comparisons=comparisons,
        decoding=DecodingPages(storage, scopes=scopes, reader=reader, comparisons=comparisons, long=long),
        refusals=refused,
        facts=facts,
    )
