"""Fill an empty store as a company would in years: many subjects in three languages, with the same names everywhere.

    python benchmarks/pages/common_names.py sqlite:///big.db --subjects 100000 --versions 10

Four of five subjects have Avro records, the others Protobuf messages and JSON Schemas. A record has 5 to 60 fields,
12 in the middle, before each version adds one; each third version changes a sentence of documentation. Some names
(``id``, ``status``, ``created_at`` …) are in nearly every record, most are made of two of a few hundred words. Each
text is a function of the numbers of its subject and version.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/http")]

from generate import Shape, generate  # noqa: E402 - the path is set above

from counterfoil.schema.model import SchemaType  # noqa: E402

TEAMS: Final = 200
MIN_FIELDS: Final = 5
MAX_FIELDS: Final = 60

EVERYWHERE: Final = ("id", "status", "created_at", "updated_at", "customer_id", "tenant_id", "type", "name")
_NOUNS: Final = """account address amount asset balance bank basket batch bill booking branch brand budget campaign card
carrier cart case category channel charge claim client code comment company contact contract country coupon courier
credit currency customer date deal debit delivery demand deposit device discount dispatch document driver email
employee entry event expense export fee file fleet gateway goods group holder import income index insurance interest
invoice item job journal key label lead ledger letter level line link list loan location log lot market member merchant
message meter method model month name note notice number offer office operator option order origin owner package page
parcel partner party payment period person phone pick place plan plant policy pool port position price process product
profile program project promotion provider purchase quality quantity queue quota quote range rate reason receipt record
refund region register relation release rent report request reserve response result return revenue review ride risk
role route rule run sale sample schedule score season seat section segment seller sensor sequence series service session
settlement share shift shipment shop signal site size slot source stage start state station step stock store street
supplier supply support tag target tariff tax team tenant term terminal ticket time title token topic total tour track
trade transfer transit trip truck type unit update user value vehicle vendor version visit volume voucher wallet
warehouse week weight window work worker year zone"""
NOUNS: Final = _NOUNS.split()
_QUALITIES: Final = """active actual annual available average base billing blocked bulk cancelled closed confirmed
current daily default delivered due early effective estimated expected external final first fixed foreign free global
gross initial internal invoiced last late linked local main manual max min monthly net new next normal old open
original outer paid partial past pending planned preferred previous primary private public raw recent remaining
requested secondary shared shipping single special standard temporary total unique valid verified weekly"""
QUALITIES: Final = _QUALITIES.split()
_AVRO_TYPES: Final = (
    *('"string"', '"long"', '["null","string"]', '"boolean"', '"double"', '"int"', '["null","long"]'),
    '{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}',
    '{"type":"long","logicalType":"timestamp-millis"}',
    '{"type":"array","items":"string"}',
    '{"type":"map","values":"string"}',
)
_PROTO_TYPES: Final = ("string", "int64", "bool", "double", "int32", "repeated string", "map<string, string>")
_JSON_TYPES: Final = ("string", "integer", "number", "boolean", "array", "object")
_MOST_COMMON: Final = 40


class _Field(NamedTuple):
    name: str
    type: int
    doc: str


@dataclass(frozen=True, slots=True)
class CommonNames(Shape):
    """Subjects whose schemas share most of their names."""

    def name(self, subject: int) -> str:
        """Return the name of a subject: its team, two words, and its number, so that a team's are one range."""
        first, second = NOUNS[subject * 7 % len(NOUNS)], QUALITIES[subject * 3 % len(QUALITIES)]
        return f"team-{subject % TEAMS:03}.{second}-{first}-{subject}-value"

    def language(self, subject: int) -> SchemaType:
        """Return Avro for four of five subjects."""
        return {3: SchemaType.PROTOBUF, 7: SchemaType.JSON}.get(subject % 10, SchemaType.AVRO)

    def text(self, subject: int, version: int) -> str:
        """Return the schema of a version."""
        chosen = random.Random(subject)
        name = f"{chosen.choice(QUALITIES)}_{chosen.choice(NOUNS)}".title().replace("_", "")
        size = min(max(round(chosen.lognormvariate(2.5, 0.5)), MIN_FIELDS), MAX_FIELDS) + version
        fields = _fields(chosen, size)
        for changed in range(3, version + 1, 3):
            fields[changed] = fields[changed]._replace(doc=f"{fields[changed].doc} Since version {changed}.".strip())
        return _WRITERS[self.language(subject)](name, f"com.shop.team{subject % TEAMS:03}", fields)


def _fields(chosen: random.Random, size: int) -> list[_Field]:
    """Return fields with different names, some of them those that are everywhere."""
    found: dict[str, _Field] = {}
    number = chosen.random
    while len(found) < size:
        at = number()
        if len(found) < MIN_FIELDS - 1:
            name = EVERYWHERE[int(at * len(EVERYWHERE))]
        elif at < 0.3:
            name = f"{NOUNS[int(number() * _MOST_COMMON)]}_{NOUNS[int(number() * _MOST_COMMON)]}"
        elif at < 0.6:
            name = f"{QUALITIES[int(number() * len(QUALITIES))]}_{NOUNS[int(number() * len(NOUNS))]}"
        else:
            name = f"{NOUNS[int(number() * len(NOUNS))]}_{NOUNS[int(number() * len(NOUNS))]}"
        doc = ""
        if number() < 0.4:
            quality, noun = QUALITIES[int(number() * len(QUALITIES))], NOUNS[int(number() * len(NOUNS))]
            doc = f"The {quality} {name.replace('_', ' ')} of the {noun}, as the {NOUNS[int(number() * 60)]} has it."
        found[name] = _Field(name, int(number() * 1000), doc)
    return list(found.values())


def _avro(name: str, package: str, fields: list[_Field]) -> str:
    shown = ",".join(
        f'{{"name":"{each.name}","type":{_AVRO_TYPES[each.type % len(_AVRO_TYPES)]}'
        + (f',"doc":"{each.doc}"}}' if each.doc else "}")
        for each in fields
    )
    return f'{{"type":"record","name":"{name}","namespace":"{package}","fields":[{shown}]}}'


def _protobuf(name: str, package: str, fields: list[_Field]) -> str:
    shown = "".join(
        (f"  // {each.doc}\n" if each.doc else "")
        + f"  {_PROTO_TYPES[each.type % len(_PROTO_TYPES)]} {each.name} = {number};\n"
        for number, each in enumerate(fields, 1)
    )
    return f'syntax = "proto3";\npackage {package};\n\nmessage {name} {{\n{shown}}}\n'


def _json_schema(name: str, package: str, fields: list[_Field]) -> str:
    properties = {
        each.name: {
            "type": _JSON_TYPES[each.type % len(_JSON_TYPES)],
            **({"description": each.doc} if each.doc else {}),
        }
        for each in fields
    }
    given: dict[str, Any] = {"title": name, "description": f"A value of {package}.", "type": "object"}
    return json.dumps({**given, "properties": properties}, separators=(",", ":"))


_WRITERS: Final = {SchemaType.AVRO: _avro, SchemaType.PROTOBUF: _protobuf, SchemaType.JSON: _json_schema}


def main() -> None:
    """Fill a store from the command line."""
    parser = argparse.ArgumentParser(description="Fill an empty store with subjects that share most names.")
    parser.add_argument("url", help="sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/database")
    parser.add_argument("--subjects", type=int, default=100_000)
    parser.add_argument("--versions", type=int, default=10)
    given = parser.parse_args()
    shape, begun = CommonNames(given.subjects, given.versions), time.monotonic()
    generate(given.url, shape)
    print(f"{shape.size:,} versions of {shape.subjects:,} subjects in {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main()
