"""The verdicts that a registry must give about a fleet, from decoded records and the documents alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from strategies.fleets.meaning import Misses, Reading, misses_of
from strategies.fleets.shapes import ITEM, VALUE, at, printed
from strategies.fleets.story import CanDeploy, CanRegister, Deploy, Publish, Retain, Undeploy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from strategies.fleets.meaning import Key
    from strategies.fleets.shapes import Shape
    from strategies.fleets.story import Event, Port, Question

Version = tuple[str, str]
"""An application, and one of its versions."""
_KEY: Final = ("$key",)


class Answer(StrEnum):
    """What the answer to a question must be."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    EITHER = "not judged"


@dataclass(frozen=True, slots=True)
class Expected:
    """An answer; ``broken`` are the consumers that break for certain, each with the place, the way and a record."""

    answer: Answer
    broken: tuple[tuple[str, Key, str], ...] = ()
    doubts: tuple[tuple[str, Key, str], ...] = ()
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Live:
    """A version that is live."""

    version: Version
    instance: str
    is_release: bool


@dataclass(slots=True)
class Fleet:
    """What was published, and what is and was live, by environment."""

    language: str
    published: dict[Version, Publish] = field(default_factory=dict)
    live: dict[str, list[Live]] = field(default_factory=dict)
    first: dict[tuple[str, Version], dict[str, frozenset[Schemas]]] = field(default_factory=dict)
    at_publication: dict[tuple[str, Version], dict[str, frozenset[Schemas]]] = field(default_factory=dict)
    written_by_then: dict[Version, dict[str, frozenset[Schemas]]] = field(default_factory=dict)
    together: set[tuple[str, Version, Version]] = field(default_factory=set)
    approved: set[tuple[str, Key]] = field(default_factory=set)
    retained: dict[tuple[str, str], list[Shape]] = field(default_factory=dict)
    registered: dict[str, list[Shape]] = field(default_factory=dict)
    environments: tuple[str, ...] = ("production", "staging")

    def apply(self, event: Event) -> None:
        """Change what is published and live."""
        if isinstance(event, Publish):
            version = (event.application, event.version)
            self.written_by_then.setdefault(version, self._offers_of(self.published))
            self.published.setdefault(version, event)
            for each in self.environments:
                self.at_publication.setdefault((each, version), self._written(each))
        elif isinstance(event, Retain):
            self.retained.setdefault((event.environment, event.topic), []).extend(event.shapes)
            self.registered.setdefault(event.topic, []).extend(event.shapes)
        elif (event.application, event.version) in self.published:
            if isinstance(event, Deploy):
                self._deploy(event)
            else:
                self._undeploy(event)

    def _deploy(self, event: Deploy) -> None:
        version = (event.application, event.version)
        if event.is_approved:
            found = self.expected(CanDeploy(event.environment, *version))
            self.approved |= {(name, key) for name, key, _ in (*found.broken, *found.doubts)}
        now = self.live.setdefault(event.environment, [])
        if not event.is_release:
            now[:] = [
                each
                for each in now
                if each.is_release or (each.version[0], each.instance) != (event.application, event.instance)
            ]
        made = Live(version, event.instance, event.is_release)
        if made not in now:
            now.append(made)
        written = self._written(event.environment)
        self.first.setdefault((event.environment, version), {})
        for each in now:  # where nobody wrote at its deployment, the first ones count with which it was live
            met = self.first[event.environment, each.version]
            met.update({topic: shapes for topic, shapes in written.items() if topic not in met})
        self.together |= {(event.environment, a.version, b.version) for a in now for b in now}

    def _undeploy(self, event: Undeploy) -> None:
        now = self.live.get(event.environment, [])
        now[:] = [each for each in now if each.version != (event.application, event.version)]

    def has_met(self, environment: str, version: Version) -> bool:
        """Return whether one schema is known with which a version reads, or would read if it were deployed now."""
        now = self._written(environment)
        first = self.first.get((environment, version))
        known = now if first is None else first
        return all(
            each.declared is not None or len(known.get(each.topic, ())) == 1 for each in self.published[version].ports
        )

    def versions(self, environment: str) -> list[Version]:
        """Return what is live, each version once."""
        return list(dict.fromkeys(each.version for each in self.live.get(environment, [])))

    def _written(self, environment: str) -> dict[str, frozenset[Schemas]]:
        """Return the schemas in which each topic is written now."""
        return self._offers_of(self.versions(environment))

    def _offers_of(self, versions: Iterable[Version]) -> dict[str, frozenset[Schemas]]:
        found: dict[str, set[Schemas]] = {}
        for each in versions:
            for offer in self.published[each].offers:
                found.setdefault(offer.topic, set()).add((offer.shape, offer.key))
        return {topic: frozenset(shapes) for topic, shapes in found.items()}

    def expected(self, question: Question) -> Expected:
        """Return what the answer must be."""
        if isinstance(question, CanRegister):
            return self._expected_registration(question)
        version = (question.application, question.version)
        if version not in self.published:
            return Expected(Answer.EITHER)
        verdict = _Verdict(self.approved)
        self._judge_producer(verdict, question.environment, version)
        has_all = self._judge_consumer(verdict, question.environment, version)
        expected = verdict.expected()
        if self._gives_up(question.environment, version):
            return replace(expected, answer=Answer.EITHER, causes=("a topic is given up",))
        is_unknown = not has_all and expected.answer is Answer.YES
        return replace(expected, answer=Answer.UNKNOWN) if is_unknown else expected

    def _gives_up(self, environment: str, version: Version) -> bool:
        """Return whether a version no longer writes a topic that a live one of the application writes."""
        topics = {
            each.topic
            for one in self.versions(environment)
            if one[0] == version[0]
            for each in self.published[one].offers
        }
        return bool(topics - {each.topic for each in self.published[version].offers})

    def _judge_producer(self, verdict: _Verdict, environment: str, version: Version) -> None:
        now = self.versions(environment)
        readers = [each for each in now if each[0] != version[0]]
        for offer in self.published[version].offers:
            own = [each for each in now if each[0] == version[0] and self.offered(each, offer.topic)]
            others = [each for each in now if each[0] != version[0] and self.offered(each, offer.topic)]
            for reader in readers:
                for port in self.ports(reader, offer.topic):
                    found = self.missed(environment, reader, port, (offer.shape, offer.key))
                    before = [
                        [self.missed(environment, reader, port, one) for one in self.offered(each, offer.topic)]
                        for each in own or others
                    ]
                    known = [one for part in before for one in part]
                    if (environment, version, reader) not in self.together:
                        verdict.add(reader[0], found, known)

    def _judge_consumer(self, verdict: _Verdict, environment: str, version: Version) -> bool:
        """Judge what a version reads; return whether somebody writes all of it."""
        has_all = True
        now = self.versions(environment)
        own = [each for each in now if each[0] == version[0]]
        for port in self.published[version].ports:
            writers = [each for each in now if self.offered(each, port.topic)]
            has_all = has_all and bool(writers)
            met = [(schemas, False) for writer in writers for schemas in self.offered(writer, port.topic)]
            if port.is_from_start and met:
                met += [((shape, None), True) for shape in self.retained.get((environment, port.topic), [])]
            for schemas, is_old in met:
                found = self.missed(environment, version, port, schemas, leaves_units_open=True)
                known = [
                    self.missed(environment, each, one, schemas, leaves_units_open=True)
                    if one.is_from_start or not is_old
                    else Misses()
                    for each in own
                    for one in self.ports(each, port.topic)
                ]
                verdict.add(version[0], found, known)
        return has_all

    def _expected_registration(self, question: CanRegister) -> Expected:
        verdict = _Verdict(set())
        found_any = False
        live = {each for environment in self.environments for each in self.versions(environment)}
        pending = [each for each in self.published if each not in live and self.ports(each, question.topic)]
        has_other_units = self._has_other_units(question)
        for environment in self.environments:
            known = {shape for shape, _ in self._written(environment).get(question.topic, frozenset())}
            known |= set(self.registered.get(question.topic, []))
            known |= {shape for shape, _ in self._offers_of(self.published).get(question.topic, frozenset())}
            for reader in self.versions(environment):
                for port in self.ports(reader, question.topic):
                    found_any = True
                    now = self.missed(
                        environment, reader, port, (question.shape, None), leaves_units_open=has_other_units
                    )
                    before = [self.missed(environment, reader, port, (each, None)) for each in known]
                    verdict.add(reader[0], now, [], registered=before)
        is_offered = any(self.offered(each, question.topic) for each in self.published)
        found = verdict.expected()
        if not found_any or not is_offered:
            return Expected(Answer.EITHER)
        if found.answer is Answer.YES and has_other_units:
            return Expected(Answer.EITHER, causes=("the newest contract has other units",))
        if pending and found.answer is Answer.YES:
            return Expected(Answer.EITHER, causes=("a version that is not live reads",))
        return found

    def _has_other_units(self, question: CanRegister) -> bool:
        """Return whether the newest contract, which counts for a schema alone, has not the units of the question."""
        offers = [each for one in self.published.values() for each in one.offers if each.topic == question.topic]
        now = {each.name: each.unit for each in offers[-1].shape.fields} if offers else {}
        return any(now.get(each.name, "") != each.unit for each in question.shape.fields)

    def offered(self, version: Version, topic: str) -> list[Schemas]:
        """Return the schemas in which a version writes a topic."""
        return [(each.shape, each.key) for each in self.published[version].offers if each.topic == topic]

    def ports(self, version: Version, topic: str) -> list[Port]:
        """Return what a version reads of a topic."""
        return [each for each in self.published[version].ports if each.topic == topic]

    def missed(
        self, environment: str, reader: Version, port: Port, written: Schemas, *, leaves_units_open: bool = False
    ) -> Misses:
        """Return what a version misses of records; it is certain if all schemas agree that it may read with."""
        known = self._known(environment, reader, port.topic)
        fitting = [each for each in known if all(at(each[0], one.path) for one in port.reads or ())]
        fitting = fitting if self._is_remembered(environment, reader, port.topic) else []
        nothing: list[Any] = [(None, None)]
        candidates = [self._missed_with(port, each, written) for each in fitting or known or nothing]
        found = Misses()
        for each in candidates:
            for key, example in each.all.items():
                is_certain = all(key in one.certain for one in candidates)
                is_certain = is_certain and not (leaves_units_open and key[1].startswith("unit:"))
                found.add(key, example, is_certain=is_certain)
        return found

    def _is_remembered(self, environment: str, reader: Version, topic: str) -> bool:
        key = (environment, reader)
        return topic in self.first.get(key, {}) or topic in self.at_publication.get(key, {})

    def _known(self, environment: str, reader: Version, topic: str) -> list[Schemas]:
        """Return the schemas with which a version may read: those live at its first deployment, or its publication."""
        first = self.first.get((environment, reader), {}).get(topic, frozenset())
        if first:
            return list(first)
        before = self.at_publication.get((environment, reader), {}).get(topic, frozenset())
        if before:
            return list(before)
        by_then = self.written_by_then.get(reader, {}).get(topic, frozenset())
        return list(by_then | self._written(environment).get(topic, frozenset()))

    def _missed_with(self, port: Port, known: tuple[Shape | None, Shape | None], written: Schemas) -> Misses:
        shape, key = known
        is_declared = port.declared is not None
        reader = port.declared if is_declared else shape
        found = Misses()
        reading = Reading(self.language, reader, port.reads, is_declared, port.on_unknown_enum)
        found.merge(misses_of(reading, written[0]))
        if port.reads is None and (written[1] is None or key is None) and written[1] != key:
            found.add((_KEY, f"key:{hash(written[1])}"), "the keys are others", is_certain=False)
        elif port.reads is None and written[1] is not None:
            of_key = Reading(self.language, key, None, is_declared=False, on_unknown_enum=port.on_unknown_enum)
            found.merge(misses_of(of_key, written[1]), _KEY)
        if port.key_reads and written[1] is None:
            found.add((_KEY, "key:none"), "there are no keys", is_certain=False)
        elif port.key_reads and written[1] is not None:
            of_key = Reading(
                self.language, key, port.key_reads, is_declared=False, on_unknown_enum=port.on_unknown_enum
            )
            found.merge(misses_of(of_key, written[1]), _KEY)
        return found


Schemas = tuple["Shape", "Shape | None"]
"""The schema of the values of a topic, and that of its keys."""
_NOT_THERE = ("null", "absent", "required")
_TOTAL = ("type:", "gone", "number")


class _Verdict:
    """What was found about a question until now."""

    def __init__(self, approved: set[tuple[str, Key]]) -> None:
        self._approved = approved
        self.broken: list[tuple[str, Key, str]] = []
        self.doubts: list[tuple[str, Key, str]] = []
        self._causes: list[str] = []

    def add(
        self,
        consumer: str,
        found: Misses,
        before: list[Misses],
        *,
        registered: Iterable[Misses] = (),
    ) -> None:
        """Add what a consumer misses, and did not miss of everything that is live ``before``.

        Of which of the schemas that are ``registered`` a new one takes the place, documents do not say.
        """
        for key, example in found.all.items():
            if before and key[1].startswith("unknown") and all(_is_gone(key, each) for each in before):
                continue
            is_everywhere = before and all(_has(key, each.all) for each in before)
            if is_everywhere and (key in found.doubtful or all(_has(key, each.certain) for each in before)):
                continue
            causes = (
                ("doubtful " + key[1].partition(":")[0].partition("@")[0], key not in found.certain),
                ("in a part of what is live", any(key in each.doubtful for each in before)),
                ("in what is registered", any(key in each.all for each in registered)),
                ("behind another break", any(_is_hidden(key, each) for each in (*before, *registered))),
                ("approved", _has(key, {one for name, one in self._approved if name == consumer})),
            )
            cause = next((name for name, counts in causes if counts), "")
            if cause:
                self._causes.append(cause)
            (self.doubts if cause else self.broken).append((consumer, key, example))

    def expected(self) -> Expected:
        """Return the answer."""
        broken, doubts = tuple(_once(self.broken)), tuple(_once(self.doubts))
        answer = Answer.NO if broken else Answer.EITHER if doubts else Answer.YES
        return Expected(answer, broken, doubts, tuple(sorted(set(self._causes))))


def _has(key: Key, missed: Collection[Key]) -> bool:
    """Return whether something is missed already, or all around it: a field that is gone, or of another type.

    A path that is not there is missed alike, wherever it ends; so is what stands under another number of a message in
    which nothing is written.
    """
    place, way = key
    if key in missed:
        return True
    if way.startswith("number:") and way.endswith(":nothing"):
        return any(at == place[: len(at)] and each.startswith("gone@") for at, each in missed)
    if not way.startswith("gone@"):
        return False
    kind = way.rpartition(":")[2]
    if kind == "nothing" and any(
        at == place and each.startswith("gone@") and each.endswith(":nothing") for at, each in missed
    ):
        return True
    whole = way if kind == "nothing" else f"type:{kind}"
    return any({(place[:length], whole), (place[:length], way)} & set(missed) for length in range(1, len(place)))


def _is_gone(key: Key, before: Misses) -> bool:
    """Return whether there was nothing at a place before."""
    return any(place == key[0] and way.startswith("gone") for place, way in before.all)


def _is_hidden(key: Key, before: Misses) -> bool:
    """Return whether a miss was hidden by another one at the same place, by which all records are lost."""
    place, way = key
    if way.startswith(_NOT_THERE) and any(at == place and each.startswith(_NOT_THERE) for at, each in before.all):
        return True
    stop = way.partition("@")[2]  # who requires the value there fails without it, by null or otherwise
    if stop and any(each.startswith("required") and printed(at) == stop for at, each in before.all):
        return True
    total = [each for at, each in before.all if at[: len(place)] == place and each.startswith(_TOTAL)]
    if way.startswith("type:"):  # another type is another break, also where nothing was
        step = len(place)
        inside = any(at[:step] == place and at[step : step + 1] in ((ITEM,), (VALUE,)) for at, _ in before.all)
        return inside or any(each.startswith("number") for each in total)
    is_other_type = [each.startswith("type:") and ":" not in each[len("type:") :] for each in total]
    return not all(is_other_type) if way.startswith("gone") else bool(total)


def _once(found: Iterable[tuple[str, Key, str]]) -> Iterator[tuple[str, Key, str]]:
    seen = set()
    for each in found:
        if each[:2] not in seen:
            seen.add(each[:2])
            yield each
