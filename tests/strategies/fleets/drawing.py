"""Drawn stories of fleets: published, deployed, forced, approved, rolled back, repaired; with questions in between."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from strategies.fleets.changes import Drawing
from strategies.fleets.languages import LANGUAGES
from strategies.fleets.oracle import Answer, Fleet
from strategies.fleets.shapes import Shape, places
from strategies.fleets.story import (
    CanDeploy,
    CanRegister,
    Deploy,
    FieldRead,
    Offer,
    Port,
    Publish,
    Question,
    Retain,
    Story,
    Undeploy,
)

if TYPE_CHECKING:
    from strategies.fleets.story import Event

ENVIRONMENTS: Final = ("production", "production", "production", "staging")
PRODUCERS: Final = ("shop", "outlet")
CONSUMERS: Final = ("billing", "audit", "search")
_STEPS: Final = 16
_DEPLOYED: Final = {Answer.YES: 0.9, Answer.UNKNOWN: 0.5, Answer.NO: 0.35, Answer.EITHER: 0.25}
"""How often a version is deployed, by what the answer must be: a break by force."""


class Drawn:
    """A story that grows."""

    def __init__(self, seed: int, language: str, topics: tuple[str, ...] = ()) -> None:
        self.random = Random(seed)
        self.drawing = Drawing(self.random, language, LANGUAGES[language].kinds)
        self.language = language
        self.steps: list[Event | Question] = []
        self.fleet = Fleet(language)
        self.topics = topics or (("orders", "returns") if self.random.random() < 0.25 else ("orders",))
        self.history: dict[str, list[Shape]] = {each: [self.drawing.record()] for each in self.topics}
        self.keys: dict[str, Shape | None] = dict.fromkeys(self.topics)
        if not topics and self.random.random() < 0.3:
            self.keys["orders"] = self.drawing.record("OrderKey", ("id", "shard", "kind"), 2)
        self.number = 0

    def add(self, step: Event | Question) -> None:
        """Add a step, which happens to the fleet."""
        self.steps.append(step)
        if not isinstance(step, CanDeploy | CanRegister):
            self.fleet.apply(step)

    def happen(self, *events: Event) -> None:
        """Add events."""
        for each in events:
            self.add(each)

    def next_shape(self, topic: str) -> Shape:
        """Return the next schema of a topic: a changed one, an earlier one, or a repaired one."""
        history = self.history[topic]
        chance = self.random.random()
        if chance < 0.12 and len(history) > 1:
            shape = self.random.choice(history[:-1])
        elif chance < 0.25 and len(history) > 1:
            shape = self.drawing.repaired(history[-1], self.random.choice(history[:-1]))
        elif chance < 0.32:
            shape = history[-1]
        else:
            shape = self.drawing.changed(history[-1])
        history.append(shape)
        return shape

    def producer(self) -> tuple[str, str]:
        """Publish a version of a producer."""
        application = PRODUCERS[0] if self.random.random() < 0.96 else PRODUCERS[1]
        topics = self.topics if application == PRODUCERS[0] else self.topics[:1]
        self.number += 1
        for each in topics:
            key = self.keys[each]
            if key is not None and self.random.random() < 0.12:
                self.keys[each] = self.drawing.changed(key)
        offers = tuple(Offer(each, self.next_shape(each), self.keys[each]) for each in topics)
        event = Publish(application, str(self.number), self.number, offers=offers)
        self.add(event)
        return event.application, event.version

    def consumer(self) -> tuple[str, str]:
        """Publish a version of a consumer."""
        application = self.random.choice(CONSUMERS)
        self.number += 1
        topics = self.topics if self.random.random() < 0.4 else (self.random.choice(self.topics),)
        event = Publish(application, str(self.number), self.number, ports=tuple(self.port(each) for each in topics))
        self.add(event)
        return event.application, event.version

    def port(self, topic: str) -> Port:
        """Return what a consumer reads of a topic: by the newest schema, or one that is a little older."""
        random = self.random
        live = [
            offer.shape
            for each in self.fleet.versions(ENVIRONMENTS[0])
            for offer in self.fleet.published[each].offers
            if offer.topic == topic
        ]
        shape = random.choice(live if live and random.random() < 0.85 else self.history[topic][-2:])
        declared = None
        if random.random() < (0.3 if self.language == "AVRO" else 0.2):
            declared = self.drawing.changed(shape) if random.random() < 0.35 else shape
        reads = None if random.random() < 0.2 else self.reads(declared or shape)
        is_judged = self.language != "JSON" or declared is not None or random.random() < 0.3
        mode = random.choice(("", "", "", "fail", *(("default", "pass") if is_judged else ("fail",))))
        key = self.keys[topic]
        key_reads = self.reads(key)[:1] if key is not None and reads is not None and random.random() < 0.5 else ()
        return Port(topic, reads, declared, mode, random.random() < 0.25, key_reads)

    def reads(self, shape: Shape) -> tuple[FieldRead, ...]:
        """Return some of the places of a schema."""
        random = self.random
        found = list(places(shape))
        chosen = sorted(random.sample(found, min(len(found), random.randint(1, 3))))
        return tuple(FieldRead(each, random.random() < 0.3) for each in chosen)

    def deploy(self, version: tuple[str, str]) -> None:
        """Ask whether a version may be deployed, and deploy it whatever the answer is, most of the time."""
        random = self.random
        environment = random.choice(ENVIRONMENTS)
        is_known = self.fleet.has_met(environment, version)
        is_known = is_known and any(each[0] in PRODUCERS for each in self.fleet.versions(environment))
        if version[0] in CONSUMERS and not is_known and random.random() < 0.9:
            environment = ENVIRONMENTS[0]
        question = CanDeploy(environment, *version)
        self.add(question)
        is_known = version[0] in PRODUCERS or self.fleet.has_met(environment, version)
        if (is_known or random.random() < 0.05) and random.random() < _DEPLOYED[self.fleet.expected(question).answer]:
            instance = "eu" if random.random() < 0.03 else ""
            is_release = random.random() < 0.04
            self.add(Deploy(environment, *version, instance, is_release, random.random() < 0.12))

    def something(self) -> None:
        """Let something happen."""
        random = self.random
        chance = random.random()
        published = list(self.fleet.published)
        if chance < 0.42:
            self.deploy(self.producer())
        elif chance < 0.64:
            self.deploy(self.consumer())
        elif chance < 0.86:
            self.deploy(random.choice(published))
        elif chance < 0.9:
            self.add(Undeploy(random.choice(ENVIRONMENTS), *random.choice(published)))
        elif chance < 0.95:
            topic = random.choice(self.topics)
            shapes = tuple(dict.fromkeys(random.sample(self.history[topic], 1)))
            self.add(Retain(random.choice(ENVIRONMENTS), topic, shapes))
        else:
            topic = random.choice(self.topics)
            self.add(CanRegister(topic, self.drawing.changed(random.choice(self.history[topic]))))


def drawn_story(seed: int, language: str) -> Story:
    """Return the story of a seed."""
    drawn = Drawn(seed, language)
    drawn.deploy(drawn.producer())
    for _ in range(drawn.random.randint(1, 3)):
        drawn.deploy(drawn.consumer())
    for _ in range(_STEPS):
        drawn.something()
    for version in drawn.fleet.published:
        for environment in sorted(set(ENVIRONMENTS)):
            is_known = drawn.fleet.has_met(environment, version)
            if drawn.random.random() < (0.5 if is_known else 0.05):
                drawn.add(CanDeploy(environment, *version))
    return Story(language, tuple(drawn.steps))
