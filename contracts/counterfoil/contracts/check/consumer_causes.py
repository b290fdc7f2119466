"""Which change of a topic or of a consumer is the cause of a break, and the offer when the consumer appeared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.check.agreements import (
    AgreementFile,
    Agreements,
    ContractTopic,
    DeclaredConsumer,
    Links,
    TopicChange,
    read_file,
    topics_of,
)
from counterfoil.contracts.errors import BaselineNotFound, GitFailed
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.model import Project
from counterfoil.schema.agreements import Contract, DataProduct, Expectation, Promise, major_of
from counterfoil.schema.agreements.documents import part_hash
from counterfoil.schema.agreements.findings import FormerFinding, Offer, Reader, ReadFinding
from counterfoil.schema.agreements.judge import newly_read
from counterfoil.schema.agreements.pairs import (
    ConsumerReading,
    Gathered,
    KnownWriters,
    Offering,
    Pair,
    Side,
    consumer_pair,
    parts_of,
    producer_pair,
)
from counterfoil.schema.agreements.readers import about_reader, concerns, judge_pair, promise_changes
from counterfoil.schema.parsed import ParsedSchema

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.git import CommitChanges, Past


# What a change of a topic or of a consumer breaks, and which of the two is the cause.
#
# The sides of the question are those of files: what a contract offers and offered before, what a consumer reads and
# read before, and what was offered when it appeared. They are judged as those of a registry
# (``schema/agreements/pairs.py``). A consumer is judged with what it expected before, so that the producer is the cause
# of what breaks then; what only its new expectations break, the consumer itself causes.

_PRODUCER: Final = ""
"""Stands for the application that writes the topics of a contract, which files do not name."""
_AFTER: Final = "after"
_BEFORE: Final = "before"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A consumer after a change and before it; ``before`` is None for a new one. The schemas are its own, if any.

    ``known`` is the offer when its version appeared.
    """

    after: DeclaredConsumer
    before: DeclaredConsumer | None
    schema: ParsedSchema | None = None
    schema_before: ParsedSchema | None = None
    known: KnownWriters = field(default_factory=KnownWriters)

    @property
    def is_changed(self) -> bool:
        """Whether the consumer expects something else than before."""
        before = self.before
        return before is None or before.expectation != self.after.expectation or self.schema is not self.schema_before


@dataclass(frozen=True, slots=True)
class TopicFinding:
    """A finding about a topic: ``consumer`` is the one that breaks, ``is_by_consumer`` says who is the cause.

    ``were_together``: the offer was there together with this version of the consumer before.
    """

    finding: ReadFinding
    consumer: DeclaredConsumer | None = None
    is_by_consumer: bool = False
    were_together: bool = False


@dataclass(frozen=True, slots=True)
class _Judged:
    """The findings of a topic about a consumer, and those about promises of the contract that no longer hold for it."""

    reading: ConsumerReading
    found: tuple[TopicFinding, ...] = ()
    taken_back: tuple[ReadFinding, ...] = ()
    is_of_producer: bool = True
    """Whether the change of the topic was judged, and not the consumer's alone."""


def judge_topics(
    changes: Sequence[TopicChange], pairings: Sequence[Pairing]
) -> Iterator[tuple[TopicChange, TopicFinding]]:
    """Yield the breaks that changes of a contract's topics cause, and those that changes of its consumers cause.

    Where nothing valid was before, the change of a topic is not the cause of the fields that its consumers miss.
    """
    question = _Question(changes)
    judged = [question.judged(each) for each in pairings]
    for number, change in enumerate(changes):
        of_topic = [each[number] for each in judged if number in each]
        for each in of_topic:
            yield from ((change, found) for found in each.found)
        if change.is_changed and change.later is not None and change.earlier is not None:
            producer = [each for each in of_topic if each.is_of_producer]
            for finding in _taken_back(promise_changes(change.earlier, change.later), producer):
                yield change, TopicFinding(finding)


def _taken_back(changed: Iterable[ReadFinding], judged: Sequence[_Judged]) -> Iterator[ReadFinding]:
    """Yield the findings about promises that the contract has withdrawn: since before, or since a consumer was built.

    It is left out where all consumers that it concerns were built for the present promises.
    """
    missed = {each.identity: each for one in judged for each in one.taken_back}
    known = set()
    for finding in changed:
        known.add(finding.identity)
        is_read = any(concerns(each.reading.expectation, finding) for each in judged)
        if not is_read or finding.identity in missed:
            yield finding
    yield from (each for identity, each in missed.items() if identity not in known)


class _Question:
    """The changes of a contract's topics, as sides that can be judged."""

    def __init__(self, changes: Sequence[TopicChange]) -> None:
        self._changes = changes
        before = [_offering(_BEFORE, each.before, each.earlier, number) for number, each in enumerate(changes)]
        after = [  # of what has no valid schema now, only the paths matter that it had before
            _offering(_AFTER, each.after, each.later or each.earlier, number) for number, each in enumerate(changes)
        ]
        self._before = side_of(_BEFORE, before)
        self._after = side_of(_AFTER, after)

    def judged(self, pairing: Pairing) -> dict[int, _Judged]:
        """Return the findings about a consumer, by the numbers of the topics that it reads."""
        now = _reading(pairing.after, pairing.schema)
        before = pairing.before
        was = None if before is None or _reads_nothing(before) else _reading(before, pairing.schema_before)
        if _reads_nothing(pairing.after):
            return {}
        parts_before = {} if was is None else {number_of(each): part for each, part in self._parts(was)}
        found: dict[int, _Judged] = {}
        for offered, part in self._parts(now):
            change = self._changes[number_of(offered)]
            if change.later is None or not (change.is_changed or pairing.is_changed):
                continue
            is_comparable = change.is_changed and (change.earlier is not None or change.before is None)
            if was is not None and is_comparable:
                part_before = parts_before.get(number_of(offered)) if pairing.is_changed else part
                judged = self._by_producer(pairing, offered, part, part_before)
            else:
                judged = self._by_consumer(pairing, offered, part, was)
            personal = tuple(_newly_read(pairing, part, was, change.later))
            found[number_of(offered)] = replace(judged, found=(*judged.found, *personal))
        return found

    def _parts(self, reading: ConsumerReading) -> Sequence[tuple[Offering, ConsumerReading]]:
        return parts_of(reading, self._after.offerings, [self._before])

    def _by_producer(
        self, pairing: Pairing, offered: Offering, now: ConsumerReading, was: ConsumerReading | None
    ) -> _Judged:
        """Return the breaks by the change of a topic, and those by the consumer whose expectations change with it."""
        pair = self._pair(pairing, offered, now)
        pair_before = pair if was is now or was is None else self._pair(pairing, offered, was)
        causes = () if was is None else pair_before.findings
        cause_by_identity = {each.identity: each for each in causes}
        found = []
        for each in about_reader(pair.findings):
            cause = cause_by_identity.get(each.identity)
            is_known = cause is not None and (cause.is_preexisting or pair.were_together)
            finding = replace(each, is_preexisting=is_known)
            together = pair.were_together and cause is not None and not cause.is_preexisting
            found.append(TopicFinding(finding, pairing.after, cause is None, together))
        taken_back = tuple(each for each in pair.caused if each.application is None)
        return _Judged(now, tuple(found), taken_back)

    def _pair(self, pairing: Pairing, offered: Offering, reading: ConsumerReading) -> Pair:
        question = Gathered(self._after, before=[self._before], known=pairing.known)
        return producer_pair(question, offered, reading, _judge, is_live=True)

    def _by_consumer(
        self, pairing: Pairing, offered: Offering, now: ConsumerReading, was: ConsumerReading | None
    ) -> _Judged:
        """Return the breaks of a consumer by a topic that has not changed, or that it did not read before."""
        replaced = [] if was is None else [Side(was.application, was.version, readings=(was,))]
        side = Side(now.application, now.version, readings=(now,))
        question = Gathered(side, replaced, writers=[self._after], known=pairing.known)
        pair = consumer_pair(question, offered, now, _judge)
        found = (TopicFinding(each, pairing.after, not each.is_preexisting) for each in about_reader(pair.findings))
        return _Judged(now, tuple(found), is_of_producer=False)


def _newly_read(
    pairing: Pairing, now: ConsumerReading, was: ConsumerReading | None, later: Offer
) -> Iterator[TopicFinding]:
    """Yield the fields with personal data of a topic that a new version of a consumer reads."""
    if not pairing.is_changed or later.promise is None:
        return
    for finding in newly_read(None if was is None else was.reader, now.reader, later.promise):
        former = FormerFinding(finding.rule, finding.element, finding.text)
        yield TopicFinding(replace(finding, former=former), pairing.after, is_by_consumer=True)


# --- files as sides


def side_of(version: str, offerings: Iterable[Offering | None]) -> Side:
    """Return the side of the producer of a contract's topics."""
    return Side(_PRODUCER, version, tuple(each for each in offerings if each is not None))


def _offering(version: str, topic: ContractTopic | None, offer: Offer | None, number: int) -> Offering | None:
    return None if topic is None or offer is None else offering_of(version, topic, offer, number)


def offering_of(version: str, topic: ContractTopic, offer: Offer, number: int) -> Offering:
    """Return the offering of a topic; ``number`` is its place in the contract."""
    contract, promise = topic.contract, topic.promise
    identity = (version, str(number))
    return Offering(_PRODUCER, version, contract.id, contract.version, promise.subject, promise, offer, identity)


def number_of(offered: Offering) -> int:
    """Return the place of a topic in its contract."""
    return int(offered.identity[-1])


def _reading(consumer: DeclaredConsumer, schema: ParsedSchema | None) -> ConsumerReading:
    application, version = consumer.application.id, consumer.application.version
    reader = Reader(application, consumer.expectation, version=version, schema=schema)
    contract, identity = consumer.expectation.contract_id, (consumer.path, consumer.expectation.name)
    return ConsumerReading(application, version or "", contract, reader, application, identity)


def _judge(known: Sequence[Offering], offered: Offering, reading: ConsumerReading) -> tuple[ReadFinding, ...]:
    return judge_pair([each.offer for each in known], offered.offer, reading.reader)


def _reads_nothing(consumer: DeclaredConsumer) -> bool:
    return consumer.expectation.reads == ()


# The offers of the commit in which a consumer appeared, and the topics that were there at the same time, from git.
#
# Of a consumer that declares no schema of its own it is taken that it reads with the schemas that the branch had when
# its version appeared there, with what it expects now. These are files of commits, which are read only where a topic
# has changed.

_MOST_STATES = 100
"""How many states are looked at for the first one in which a contract is offered."""


class ConsumerHistory:
    """The history of consumers up to the commit that is compared with.

    ``is_agreement`` returns whether a path is that of a contract or product file.
    """

    def __init__(self, past: Past, *, is_agreement: Callable[[str], bool], project: Project | None) -> None:
        self._past = past
        self._is_agreement = is_agreement
        self._project = project
        self._file_by_content: dict[tuple[str, bytes], AgreementFile] = {}
        self._offered: dict[tuple[str, str], Sequence[tuple[ContractTopic, Offer]]] = {}
        self.is_cut = False
        """Whether a question was about a consumer whose first commit is missing in this clone."""

    def first_offered(self, consumer: DeclaredConsumer) -> Sequence[tuple[ContractTopic, Offer]]:
        """Return the topics of its contract that were there when a consumer appeared, with their offers.

        Without any at that commit, they are those of the first later one that has the contract. Nothing comes back if
        it is not known when the consumer appeared.
        """
        try:
            return self._first_offered(consumer)
        except (BaselineNotFound, GitFailed):  # a clone without the contents of earlier commits
            self.is_cut = True
            return ()

    def _first_offered(self, consumer: DeclaredConsumer) -> Sequence[tuple[ContractTopic, Offer]]:
        first = self._appearance(consumer)
        if first is None:
            return ()
        contract = consumer.expectation.contract_id
        for commit in self._with_more(first):
            if found := self._offered_at(commit.commit, contract):
                return found
        return ()

    def were_together(self, consumer: DeclaredConsumer, topic: ContractTopic, tree: SchemaTree) -> bool:
        """Return whether a topic was as it is now, in the schemas of ``tree``, when the consumer was there already."""
        try:
            return self._were_together(consumer, topic, tree)
        except (BaselineNotFound, GitFailed):
            self.is_cut = True
            return False

    def _were_together(self, consumer: DeclaredConsumer, topic: ContractTopic, tree: SchemaTree) -> bool:
        first = self._appearance(consumer)
        schemas = [path for path in (topic.value_path, topic.key_path) if path is not None]
        if first is None or topic.value_path is None:
            return False
        texts = {path: _text(tree.data(path)) for path in (*schemas, *_referred(tree, schemas))}
        return any(
            all(_text(data) == texts[path] for path, data in state.items() if path in texts)
            and texts.keys() <= state.keys()
            and self._has_promise(state.get(topic.path), topic)
            for state in self._states_of((topic.path, *texts), first)
        )

    def _has_promise(self, data: bytes | None, topic: ContractTopic) -> bool:
        """Return whether a contract file made the present promises of a topic."""
        found = None if data is None else self._read(topic.path, data).reading.agreement
        if not isinstance(found, Contract) or found.id != topic.contract.id:
            return False
        return any(_promised(each) == _promised(topic.promise) for each in found.promises)

    # --- commits

    def _appearance(self, consumer: DeclaredConsumer) -> int | None:
        """Return the number of the commit, counted from the newest, in which a consumer appeared as it is now.

        Its file may have been moved since. None: it is not known.
        """
        path = consumer.path
        for number, commit in enumerate(self._past.commits):
            if path not in commit.files:
                continue
            moved = self._earlier_path(commit, path, consumer)
            if moved is None:
                if number == len(self._past.commits) - 1 and self._past.is_cut:
                    self.is_cut = True
                    return None
                return number
            path = moved
        return None

    def _earlier_path(self, commit: CommitChanges, path: str, consumer: DeclaredConsumer) -> str | None:
        """Return the path of the file in which the consumer was before a commit; None if it was not there."""
        before, _ = commit.files[path]
        if before is not None:
            known = {path: before}
        else:
            gone = ((each, was) for each, (was, now) in commit.files.items() if now is None and was is not None)
            known = {each: was for each, was in gone if self._is_agreement(each)}
        contents = self._past.contents(known.values())
        return next((each for each, was in known.items() if self._declares(each, contents[was], consumer)), None)

    def _declares(self, path: str, data: bytes, consumer: DeclaredConsumer) -> bool:
        """Return whether a file has the same version of a consumer, which expects the same."""
        found = self._read(path, data).reading.agreement
        if not isinstance(found, DataProduct):
            return False
        same = (found.id, found.version) == (consumer.application.id, consumer.application.version)
        return same and any(_facts(each) == _facts(consumer.expectation) for each in found.expectations)

    def _with_more(self, first: int) -> Iterator[CommitChanges]:
        """Yield the commit with a number, and the later ones that have more files than the one before."""
        yield self._past.commits[first]
        later = [
            each for each in reversed(self._past.commits[:first]) if any(was is None for was, _ in each.files.values())
        ]
        yield from later[:_MOST_STATES]

    def _states_of(self, paths: Sequence[str], first: int) -> Iterator[Mapping[str, bytes]]:
        """Yield the contents of files at each state since the commit with a number, newest first, without the last."""
        changes = [
            {path: each.files[path] for path in paths if path in each.files} for each in self._past.commits[: first + 1]
        ]
        objects = {one for each in changes for pair in each.values() for one in pair if one is not None}
        contents = self._past.contents(sorted(objects))
        state: dict[str, str | None] = {}
        for each in changes:  # what is not changed later is as it was left by the newest commit that changed it
            for path, (_, now) in each.items():
                state.setdefault(path, now)
        older = self._older(paths, first, known=state)
        contents = {**contents, **self._past.contents(sorted({one for one in older.values() if one is not None}))}
        state = {**older, **state}
        yield {path: contents[one] for path, one in state.items() if one is not None}
        for each in changes[:-1]:
            if each:
                state.update({path: was for path, (was, _) in each.items()})
                yield {path: contents[one] for path, one in state.items() if one is not None}

    def _older(self, paths: Sequence[str], first: int, *, known: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the objects of files that did not change since the commit with a number."""
        found: dict[str, str | None] = {}
        for each in self._past.commits[first + 1 :]:
            for path in paths:
                if path in each.files and path not in known:
                    found.setdefault(path, each.files[path][1])
            if len(found) + len(known) == len(paths):
                break
        return found

    # --- files at a commit

    def _offered_at(self, commit: str, contract: str) -> Sequence[tuple[ContractTopic, Offer]]:
        if (commit, contract) not in self._offered:
            self._offered[commit, contract] = tuple(self._read_offered(commit, contract))
        return self._offered[commit, contract]

    def _read_offered(self, commit: str, contract: str) -> Iterator[tuple[ContractTopic, Offer]]:
        files = self._past.yaml_files(commit)
        contents = files.contents([path for path in files.paths if self._is_agreement(path)])
        named = {path: data for path, data in contents.items() if contract.encode() in data}
        agreements = Agreements.of((self._read(path, data) for path, data in named.items()), consumer_files=frozenset())
        known = agreements.contracts.get(contract)
        if known is None:
            return
        tree = self._past.tree(commit)
        for topic in topics_of(*known, Links(tree, self._project)):
            schema = None if topic.value_path is None else tree.read(topic.value_path).schema
            if schema is not None:
                key = None if topic.key_path is None else tree.read(topic.key_path).schema
                yield topic, Offer(schema, topic.promise, key=key)

    def _read(self, path: str, data: bytes) -> AgreementFile:
        if (path, data) not in self._file_by_content:
            self._file_by_content[path, data] = read_file(path, data)
        return self._file_by_content[path, data]


def _facts(expectation: Expectation) -> tuple[str, str]:
    return major_of(expectation.version), part_hash(expectation)


def _promised(promise: Promise) -> tuple[object, ...]:
    """Return the promises of a topic, with the meanings of the symbols of enums."""
    meanings = {each.path: [(one.value, one.description) for one in each.enum or ()] for each in promise.fields}
    return part_hash(promise), meanings


def _referred(tree: SchemaTree, paths: Sequence[str]) -> set[str]:
    """Return the paths of the files to which schemas refer."""
    return {each for path in paths for each in tree.referred(path).values()} - set(paths)


def _text(data: bytes) -> bytes:
    """Return the bytes of a file with one kind of line end."""
    return data.replace(b"\r\n", b"\n")
