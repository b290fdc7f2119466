"""Who reads a subject, and which of its fields: what consumers declare, and what was observed of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.registry.service.contracts.verdicts.counterparts import ANYWHERE, Place
from counterfoil.schema.paths import parse_path, print_path
from counterfoil.schema.rest.usage import WHOLE_RECORD
from counterfoil.schema.rest.verdicts import Consumer, FieldUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.registry.domain.contracts.observed import ObservedReader
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.contracts.usage import ObservedUsage
    from counterfoil.registry.service.contracts.verdicts.counterparts import Counterparts
    from counterfoil.registry.service.contracts.verdicts.sides import Sides
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.reads.sides import Reading


class Consumers:
    """The use cases of who reads."""

    def __init__(
        self, *, records: ContractRecords, sides: Sides, counterparts: Counterparts, usage: ObservedUsage
    ) -> None:
        self._records = records
        self._sides = sides
        self._counterparts = counterparts
        self._usage = usage

    async def of_subject(self, subject: QualifiedSubject, environment: str | None = None) -> list[Consumer]:
        """Return who reads a subject: live versions with their environments, and the newest ones that are not live.

        With them are the applications that were seen to read it, and declare nothing about it. Who reads a major
        version of its contract that is about other subjects alone does not read it.
        """
        seen = {each.application: each for each in await self._usage.readers(subject, environment)}
        declared = await self._declared(subject, environment)
        others = [_observed(each) for name, each in seen.items() if name not in {one.application for one in declared}]
        known = [_with_times(each, seen.get(each.application)) for each in declared]
        return sorted([*known, *others], key=lambda each: (each.application, each.version, each.contract))

    async def _declared(self, subject: QualifiedSubject, environment: str | None) -> list[Consumer]:
        contracts = await self._records.contracts_of(subject)
        elsewhere = {each: await self._sides.majors_without(each, str(subject)) for each in contracts}
        names = [environment] if environment is not None else await self._records.environment_names()
        live = {name: (await self._counterparts.readers(contracts, Place(name))).live for name in names}
        newest = () if environment is not None else (await self._counterparts.readers(contracts, ANYWHERE)).live
        places: dict[tuple[str, str, str], tuple[Reading, list[str]]] = {}
        for name, sides in [*live.items(), ("", newest)]:
            for reading in (each for side in sides for each in side.readings):
                if reading.major in elsewhere[reading.contract]:
                    continue
                key = (reading.application, reading.version, reading.contract)
                _, live_in = places.setdefault(key, (reading, []))
                live_in += [name] if name else []
        return [consumer_of(*places[key]) for key in sorted(places)]

    async def fields(self, subject: QualifiedSubject, environment: str | None = None) -> list[FieldUse]:
        """Return the paths of a subject that are read, each with those who read it, and when.

        Where an application was seen to read a path that it does not declare, the path's origin is the observation.
        """
        seen = {each.application: each for each in await self._usage.readers(subject, environment)}
        by_path: dict[str, list[Consumer]] = {}
        declared: dict[str, set[str]] = {}
        for consumer in await self._declared(subject, environment):
            declared.setdefault(consumer.application, set()).update(consumer.reads)
            for path in consumer.reads:
                by_path.setdefault(path, []).append(self._of_path(consumer, path, seen.get(consumer.application)))
        for name, reader in seen.items():
            found = _observed(reader)
            for path in found.reads:
                if not (declared.get(name) and (path == WHOLE_RECORD or _is_covered(path, declared[name]))):
                    by_path.setdefault(path, []).append(self._of_path(found, path, reader))
        return [FieldUse(path, tuple(by_path[path])) for path in sorted(by_path)]

    def _of_path(self, consumer: Consumer, path: str, reader: ObservedReader | None) -> Consumer:
        """Return a consumer with the times at which it was seen to read one path, if it was."""
        if reader is None or path == WHOLE_RECORD or reader.is_whole:
            return _with_times(consumer, reader)
        use = reader.paths.get(path)
        if use is None:
            return consumer
        activity = self._usage.activity(use.last_seen).name.lower()
        return replace(consumer, first_seen=use.first_seen, last_seen=use.last_seen, activity=activity)


def consumer_of(reading: Reading, environments: Sequence[str]) -> Consumer:
    """Return a consumer that is live in some environments."""
    reads = reading.expectation.reads
    paths = (WHOLE_RECORD,) if reads is None else tuple(print_path(each.path) for each in reads)
    origin = reading.reader.origin.name.lower()
    return Consumer(reading.application, reading.version, reading.contract, paths, origin, tuple(environments))


def _observed(reader: ObservedReader) -> Consumer:
    paths = (WHOLE_RECORD,) if reader.is_whole else tuple(reader.paths)
    found = Consumer(reader.application, reader.version, "", paths, reader.origin.name.lower(), reader.environments)
    return _with_times(found, reader)


def _with_times(consumer: Consumer, reader: ObservedReader | None) -> Consumer:
    if reader is None:
        return consumer
    activity = reader.activity.name.lower()
    return replace(consumer, first_seen=reader.first_seen, last_seen=reader.last_seen, activity=activity)


def _is_covered(path: str, declared: Iterable[str]) -> bool:
    """Return whether a declared path is the same, contains this one, or is inside of it."""
    steps = parse_path(path)
    others = (() if each == WHOLE_RECORD else parse_path(each) for each in declared)
    return any(steps[: len(each)] == each or each[: len(steps)] == steps for each in others)
