"""A file that was changed by force, and is changed again or goes back: what ``check --consumers`` must say about it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from strategies.fleets.drawing import Drawn
from strategies.fleets.files import SUFFIXES, TOPIC
from strategies.fleets.languages import LANGUAGES
from strategies.fleets.oracle import Fleet
from strategies.fleets.product import contract_document, product_document
from strategies.fleets.story import CanDeploy, Deploy, Offer, Publish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from strategies.fleets.oracle import Expected
    from strategies.fleets.shapes import Shape

ENVIRONMENT = "production"
"""Stands for the branch: what is merged is live there."""


@dataclass(frozen=True, slots=True)
class ChangedHistory:
    """The files of commits, each with those that it changes, and the text of the schema file after them."""

    commits: Sequence[Mapping[str, str]]
    path: str
    later: str
    expected: Expected

    def __str__(self) -> str:
        texts = "\n".join(
            f"{number} {path}: {text}" for number, files in enumerate(self.commits) for path, text in files.items()
        )
        return f"{texts}\n{self.path} becomes {self.later}\nthe judge: {self.expected}"


def drawn_history(seed: int, language: str) -> ChangedHistory:
    """Return the history of a seed: a schema, a forced change, and then the first one again, a repair or another one.

    One consumer is there from the beginning, the other one since the forced change, half of the time.
    """
    drawn = Drawn(seed, language, topics=(TOPIC,))
    random, text = drawn.random, LANGUAGES[language].text
    first = drawn.history[TOPIC][0]
    shapes = [replace(first, fields=tuple(replace(each, unit="") for each in first.fields))]
    shapes.append(_without_units(drawn.drawing.changed(shapes[0])))
    chance = random.random()
    if chance < 0.4:
        shapes.append(shapes[0])
    elif chance < 0.7:
        shapes.append(_without_units(drawn.drawing.repaired(shapes[1], shapes[0])))
    else:
        shapes.append(_without_units(drawn.drawing.changed(shapes[1])))
    versions = {shape: str(number) for number, shape in reversed(list(enumerate(shapes, 1)))}
    suffix = SUFFIXES[language]
    schema = f"schemas/order{suffix}"
    contract = contract_document(Offer(TOPIC, shapes[0]), 1, f"../{schema}")
    commits: list[dict[str, str]] = [
        {schema: text(shapes[0]), "contracts/orders.odcs.yaml": json.dumps(contract)},
        {schema: text(shapes[1])},
    ]
    fleet = Fleet(language)
    drawn.fleet = fleet
    number_of_late = 1 if random.random() < 0.5 else 0
    for number, shape in enumerate(shapes[:2]):
        version = versions[shape]
        drawn.history[TOPIC] = [shape]
        for event in (Publish("shop", version, number + 1, offers=(Offer(TOPIC, shape),)), _deployed("shop", version)):
            fleet.apply(event)
        for name, place in (("billing", 0), ("audit", number_of_late)):
            if place == number:
                commits[number] |= _consumer(drawn, name, 10 + number, suffix)
    later = versions[shapes[2]]
    fleet.apply(Publish("shop", later, 9, offers=(Offer(TOPIC, shapes[2]),)))
    return ChangedHistory(commits, schema, text(shapes[2]), fleet.expected(CanDeploy(ENVIRONMENT, "shop", later)))


def _without_units(shape: Shape) -> Shape:
    return replace(shape, fields=tuple(replace(each, unit="") for each in shape.fields))


def _deployed(application: str, version: str) -> Deploy:
    return Deploy(ENVIRONMENT, application, version)


def _consumer(drawn: Drawn, name: str, number: int, suffix: str) -> dict[str, str]:
    """Let a consumer appear, and return its files."""
    event = Publish(name, "1", number, ports=(replace(drawn.port(TOPIC), is_from_start=False),))
    drawn.fleet.apply(event)
    drawn.fleet.apply(_deployed(name, "1"))
    own = f".{name}.reader{suffix}"
    files = {f"consumers/{name}.odps.yaml": json.dumps(product_document(event, own))}
    declared = event.ports[0].declared
    if declared is not None:
        files[f"consumers/{TOPIC}{own}"] = LANGUAGES[drawn.language].text(declared)
    return files
