"""Questions about what is live, and about branches: the matrix, ``can-i-retire`` and ``can-i-merge``.

The judge is that of :mod:`strategies.fleets.oracle`. A branch is taken as an environment to which each merged version
is deployed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from strategies.fleets.drawing import drawn_story
from strategies.fleets.oracle import Answer, Fleet
from strategies.fleets.product import BASE, Player
from strategies.fleets.story import CanDeploy, CanRegister, Deploy, Publish

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strategies.fleets.oracle import Expected
    from strategies.fleets.story import Event, Story

MAIN: Final = "main"
_UNHASHABLE: Final = "unhashable type"
"""The error of fastavro for some enums of readers in unions, whatever is written."""
_MERGED_AS: Final = 500
"""What is added to the number of a version when it is merged."""


@dataclass(slots=True)
class Asked:
    """How many questions were asked by the kind of the answer, and what was wrong, in words."""

    answers: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, kind: str, fault: str) -> None:
        """Count a question; a fault that is not empty is wrong."""
        self.answers[kind] = self.answers.get(kind, 0) + 1
        if fault:
            self.wrong.append(fault)


def ask_standing(seed: int, language: str) -> Asked:
    """Play the story of a seed, and ask at its end about all that is live."""
    return asyncio.run(_standing(drawn_story(seed, language)))


def ask_merges(seed: int, language: str) -> Asked:
    """Publish the versions of a seed's story from branches, ask whether they may be merged, and merge most of them."""
    return asyncio.run(_merges(drawn_story(seed, language)))


# --- what is live


async def _standing(story: Story) -> Asked:
    player, fleet, asked = Player(story.language), Fleet(story.language), Asked()
    await player.begin()
    used: set[str] = set()
    for step in story.steps:
        if not isinstance(step, CanDeploy | CanRegister):
            await player.apply(step)
            fleet.apply(step)
            if isinstance(step, Deploy) and (step.application, step.version) in fleet.published:
                used.add(step.environment)
    topics = sorted({offer.topic for one in fleet.published.values() for offer in one.offers})
    for environment in fleet.environments:
        for topic in topics:
            query = f"{BASE}/can-i-retire?contract={topic}&major=1&environment={environment}"
            answer = (await player.registry.get(query)).json
            asked.add("retire", _fault_of_retirement(fleet, environment, topic, answer, was_used=environment in used))
            found = (await player.registry.get(f"{BASE}/matrix?environment={environment}&subject={topic}-value")).json
            asked.add("matrix", _fault_of_matrix(fleet, environment, topic, found))
            for name in sorted({each[0] for each in fleet.versions(environment)}):
                about = (await player.registry.get(f"{BASE}/matrix?environment={environment}&application={name}")).json
                asked.add("same", _difference(found, about, name, f"{topic}-value"))
    return asked


def _fault_of_retirement(fleet: Fleet, environment: str, topic: str, answer: Any, *, was_used: bool) -> str:
    reading = {each[0] for each in fleet.versions(environment) if _reads(fleet, each, topic)}
    named = {each.get("consumer") for each in answer["reasons"] if each["reason"] == "STILL_READ"}
    expected = False if reading else True if was_used else None
    if answer["deployable"] is not expected or named != reading:
        return f"can-i-retire {topic} in {environment}: expected {expected} and {reading}, got {answer}"
    return ""


def _reads(fleet: Fleet, version: tuple[str, str], topic: str) -> bool:
    return any(each.topic == topic for each in fleet.published[version].ports)


def _fault_of_matrix(fleet: Fleet, environment: str, topic: str, answer: Any) -> str:
    """Return what is wrong with the matrix of a topic: each live pair is in it, broken if its records show it."""
    named = {_pair(each): set[str]() for each in answer["reasons"]}
    for each in answer["reasons"]:
        named[_pair(each)].add(each["reason"])
    pairs = list(_live_pairs(fleet, environment, topic))
    if not pairs:
        return "" if answer["deployable"] is None else f"nothing is live, and the matrix says {answer}"
    for pair, is_certain, is_possible in pairs:
        reasons = named.get(pair)
        where = f"the matrix of {topic} in {environment} about {pair}"
        if reasons is None:
            return f"{where} says nothing: {answer}"
        is_broken = bool(reasons & {"INCOMPATIBLE", "EXPECTATION_BROKEN"})
        if is_broken is not is_certain and (is_certain or not is_possible) and "APPROVED_BREAK" not in reasons:
            return f"{where}: expected {'a break' if is_certain else 'none'}, got {reasons}: {answer}"
    return ""


def _pair(reason: Any) -> tuple[str, ...]:
    names = ("producer", "producerVersion", "consumer", "consumerVersion")
    return tuple(reason.get(each, "") for each in names)


def _live_pairs(fleet: Fleet, environment: str, topic: str) -> Iterator[tuple[tuple[str, ...], bool, bool]]:
    """Yield the live pairs of a topic, each with whether it breaks for certain, and whether it may."""
    now = fleet.versions(environment)
    for writer in now:
        offers = fleet.offered(writer, topic)
        for reader in now if offers else ():
            ports = fleet.ports(reader, topic)
            if not ports:
                continue
            missed = [fleet.missed(environment, reader, port, each) for port in ports for each in offers]
            old = [
                fleet.missed(environment, reader, port, (shape, None))
                for port in ports
                if port.is_from_start
                for shape in fleet.retained.get((environment, topic), ())
            ]
            found = [*missed, *old]
            yield (*writer, *reader), any(each.certain for each in missed), any(each.all for each in found)


def _difference(by_subject: Any, by_application: Any, name: str, subject: str) -> str:
    """Return what two matrices say differently about the pairs of an application and a subject."""

    def about(answer: Any) -> set[tuple[str, ...]]:
        return {
            (*_pair(each), each["reason"], each.get("rule", ""), each.get("path", ""), each.get("place", ""))
            for each in answer["reasons"]
            if name in {each.get("producer"), each.get("consumer")} and each.get("subject") == subject
        }

    first, second = about(by_subject), about(by_application)
    return f"matrices differ about {name}: {first ^ second}" if first != second else ""


# --- branches


class Branch(Fleet):
    """The versions on a branch. Nothing is live, so that no two versions are known to have been together."""

    def __init__(self, language: str) -> None:
        super().__init__(language, environments=(MAIN,))

    def apply(self, event: Event) -> None:
        """Publish or merge a version."""
        super().apply(event)
        self.together.clear()


async def _merges(story: Story) -> Asked:
    player, branch, asked = Player(story.language), Branch(story.language), Asked()
    await player.begin()
    for number, event in enumerate(each for each in story.steps if isinstance(each, Publish)):
        await player.publish(event, branch=f"work-{number}")
        branch.apply(event)
        expected = branch.expected(CanDeploy(MAIN, event.application, event.version))
        query = f"{BASE}/can-i-merge?application={event.application}&version={event.version}&branch={MAIN}"
        answer = (await player.registry.get(query)).json
        if expected.answer is not Answer.EITHER and not any(_UNHASHABLE in each[2] for each in expected.broken):
            asked.add(str(expected.answer), _fault_of_merge(branch, event, expected, answer))
        if number % 5 != 4 or expected.answer is not Answer.NO:  # some of the breaks are merged by force
            merged = replace(event, version=f"{event.version}-merged", number=event.number + _MERGED_AS)
            await player.publish(merged, branch=MAIN)
            branch.apply(merged)
            branch.apply(Deploy(MAIN, merged.application, merged.version))
    return asked


def _fault_of_merge(branch: Branch, event: Publish, expected: Expected, answer: Any) -> str:
    """Return what is wrong with the answer about a merge; empty if nothing is, or if nobody is on the branch."""
    refused = [each for each in answer["reasons"] if each["reason"] in {"INCOMPATIBLE", "EXPECTATION_BROKEN"}]
    broken = {each.get("consumer") for each in refused}
    certain = {name for name, _, _ in expected.broken}
    where = f"can-i-merge {event}\non {branch.versions(MAIN)}: expected {expected}, got {answer}"
    if expected.answer is Answer.YES:
        absent = any(each["reason"] == "NO_CONTRACT" for each in answer["reasons"])
        return "" if answer["deployable"] is True or (absent and not broken) else where
    if expected.answer is Answer.UNKNOWN:
        return "" if answer["deployable"] is None else where
    if _reads_around(branch, event) and all(key[1].startswith("gone@") for _, key, _ in expected.broken):
        return ""  # records were without it before: the part that another version reads
    return "" if answer["deployable"] is False and certain <= broken else where


def _reads_around(branch: Branch, event: Publish) -> bool:
    """Return whether a consumer reads a place that contains one which its version on the branch reads."""
    now = [read.path for port in event.ports for read in port.reads or ()]
    own = [each for each in branch.versions(MAIN) if each[0] == event.application]
    before = [read.path for each in own for port in branch.published[each].ports for read in port.reads or ()]
    return any(len(path) < len(other) and other[: len(path)] == path for path in now for other in before)
