"""A change of a schema file, and the consumers of its topic: what ``check --consumers`` must say about it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from strategies.fleets.drawing import Drawn
from strategies.fleets.languages import LANGUAGES
from strategies.fleets.oracle import Answer, Fleet
from strategies.fleets.product import contract_document, product_document
from strategies.fleets.story import CanDeploy, Deploy, Offer, Publish

if TYPE_CHECKING:
    from strategies.fleets.oracle import Expected
    from strategies.fleets.shapes import Shape

SUFFIXES: Final = {"AVRO": ".avsc", "PROTOBUF": ".proto", "JSON": ".schema.json"}
TOPIC: Final = "orders"
_NAMES: Final = ("billing", "audit")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """The files of a repository, by path, and the text of its schema file after the change."""

    files: dict[str, str]
    path: str
    later: str
    expected: Expected

    def __str__(self) -> str:
        texts = "\n".join(f"{path}: {text}" for path, text in self.files.items())
        return f"{texts}\n{self.path} becomes {self.later}\nthe judge: {self.expected}"


def drawn_change(seed: int, language: str) -> ChangedFile:
    """Return the change of a seed: nothing is known of the consumers but what their files say and the old schema."""
    drawn = Drawn(seed, language, topics=(TOPIC,))
    earlier = drawn.history[TOPIC][0]
    later, suffix, text = (
        _with_units(drawn.drawing.changed(earlier), earlier),
        SUFFIXES[language],
        LANGUAGES[language].text,
    )
    before = Publish("shop", "1", 1, offers=(Offer(TOPIC, earlier),))
    drawn.happen(before, Deploy("production", "shop", "1"))
    consumers = [Publish(name, "1", number + 2, ports=(drawn.port(TOPIC),)) for number, name in enumerate(_NAMES)]
    schema = f"schemas/order{suffix}"
    contract = contract_document(before.offers[0], 1, f"../{schema}")
    files = {schema: text(earlier), "contracts/orders.odcs.yaml": json.dumps(contract)}
    fleet = Fleet(language)
    for event in (before, Deploy("production", "shop", "1")):
        fleet.apply(event)
    for each in consumers:
        fleet.apply(each)
        fleet.apply(Deploy("production", each.application, "1"))
        own = f".{each.application}.reader{suffix}"
        files[f"consumers/{each.application}.odps.yaml"] = json.dumps(product_document(each, own))
        if each.ports[0].declared is not None:
            files[f"consumers/{TOPIC}{own}"] = text(each.ports[0].declared)
    fleet.apply(Publish("shop", "2", 9, offers=(Offer(TOPIC, later),)))
    return ChangedFile(files, schema, text(later), fleet.expected(CanDeploy("production", "shop", "2")))


def _with_units(later: Shape, earlier: Shape) -> Shape:
    """Return a shape with the units of the contract, which does not change."""
    units = {each.name: each.unit for each in earlier.fields}
    return replace(later, fields=tuple(replace(each, unit=units.get(each.name, "")) for each in later.fields))


def fault_of_check(change: ChangedFile, broken: set[str]) -> str:
    """Return what is wrong if the check names these consumers as broken; empty if nothing is."""
    certain = {name for name, _, _ in change.expected.broken}
    if change.expected.answer is Answer.YES and broken:
        return f"{', '.join(sorted(broken))} cannot break"
    missing = certain - broken
    return f"{', '.join(sorted(missing))} breaks, and is not named" if missing else ""
