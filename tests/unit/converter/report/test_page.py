"""The page of ``bridge report``: what is in it, what is hidden, and that it needs no network."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest

from counterfoil.converter.messages.table import make_reader, pack
from counterfoil.converter.report.dead_letters import HIDDEN, Values, collect, tagged_names
from counterfoil.converter.report.page import PageContent, page_of
from counterfoil.converter.run.progress import PartitionPosition, RunSnapshot, RunState
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import Metadata, Schema
from counterfoil.schema.plans.bridge_document import read_bridge
from counterfoil.schema.plans.derivations import derive_both_ways

SOURCE: dict[str, Any] = {
    "type": "record",
    "name": "Ride",
    "fields": [
        {"name": "vendor", "type": "string"},
        {"name": "email", "type": "string", "confluent:tags": ["PII"]},
        {"name": "fare", "type": "double"},
        {"name": "note", "type": "string"},
    ],
}
TARGET: dict[str, Any] = {
    "type": "record",
    "name": "Ride",
    "fields": [
        {"name": "vendor_id", "type": "int"},
        {"name": "email", "type": "string"},
        {"name": "fare", "type": "string"},
    ],
}
FILE = """
bridge: rides <v2> & "v1"
source: {topic: rides-v2}
target: {topic: rides}
fields:
  vendor_id: {from: vendor, lookup: {CMT: 1}, else: error}
  fare: {from: fare, cast: string, decimals: 2}
drop: [note]
"""
DECLARED = read_bridge(FILE)
BOTH = derive_both_ways(parse_schema(json.dumps(SOURCE)), parse_schema(json.dumps(TARGET)), DECLARED.rules)
START = 1_790_000_000_000


def state(batches: int, **changes: Any) -> RunSnapshot:
    return RunSnapshot(
        **{
            "bridge": DECLARED.name,
            "plan_hash": BOTH.there.hash,
            "engine": "java",
            "job": "host:1",
            "started_ts": START,
            "ts": START + 4000 + 2000 * batches,
            "batch": batches - 1,
            "batch_records": 90_000 + 7_000 * (batches % 5),
            "batch_s": 1.9,
            "batches": batches,
            "read": 100_000 * batches,
            "converted": 99_000 * batches,
            "tombstones": 500 * batches,
            "dead_letters": {"lookup-missing": 400 * batches, "too-large": 100 * batches} if batches else {},
            "written_bytes": 14_000_000 * batches,
            "rate_per_s": 50_000.0,
            "partitions": (
                PartitionPosition(0, 0, 60_000 * batches, 1_200_000),
                PartitionPosition(1, 0, 40_000 * batches, 800_000),
            ),
            **changes,
        }
    )


@dataclass
class Message:
    """A dead letter as the client returns it."""

    value_: bytes
    headers_: list[tuple[str, bytes]]

    def value(self) -> bytes:
        return self.value_

    def headers(self) -> list[tuple[str, bytes]]:
        return self.headers_


def dead_letter(number: int, code: str, field: str, text: str, value: bytes | None = None) -> Message:
    if value is None:
        body = io.BytesIO()
        ride = {"vendor": "HELIX", "email": "ann@example.org", "fare": 1.5, "note": f"n{number}"}
        fastavro.schemaless_writer(body, fastavro.parse_schema(SOURCE), ride)
        value = b"\x00\x00\x00\x00\x07" + body.getvalue()
    facts = {
        "bridge.src": f"rides-v2/1/{number}/1700000000000/7",
        "bridge.via": DECLARED.name,
        "bridge.error": code,
        "bridge.error.field": field,
        "bridge.error.text": text,
    }
    return Message(value, [(name, fact.encode()) for name, fact in facts.items()])


DEAD = [
    *(dead_letter(number, "lookup-missing", "vendor_id", "HELIX is not in the table") for number in range(5)),
    dead_letter(6, "unencodable", "email", "ann@example.org is too long"),
    dead_letter(7, "undecodable", "", "the string 'ann@exa' is cut off", b"\x00\x00\x00\x00\x07\x02"),
]
VERIFIED = {
    "good": False,
    "totals": {
        "source": 10,
        "converted": 9,
        "tombstones": 0,
        "dead_letters": 0,
        "echoes": 0,
        "recomputed": 9,
        "missing": 1,
    },
    "partitions": [{"partition": 1, "examples": {"missing": ["42"]}}],
}


def values(schema: dict[str, Any] = SOURCE, metadata: Metadata | None = None) -> Values:
    text = json.dumps(schema)
    parsed = parse_schema(text)
    hidden = tagged_names(parsed, Schema(text, metadata=metadata))
    packed = pack(parse_schema(json.dumps(SOURCE)))
    return Values(BOTH.there, make_reader(packed, {7: packed}), {7: hidden})


def content(**changes: Any) -> PageContent:
    made: dict[str, Any] = {
        "file": DECLARED,
        "plan": BOTH.there,
        "problems": (),
        "losses": BOTH.losses,
        "history": [state(0), *map(state, range(1, 21)), state(20, ts=START + 46_000, state=RunState.FINISHED)],
        "dead_letters": collect(DEAD, bridge=DECLARED.name, source="rides-v2", values=None),
        "verification": VERIFIED,
        "made_ts": START,
    }
    return PageContent(**{**made, **changes})


class Structure(HTMLParser):
    """The page as a browser takes it: ids, links, headings, texts; elements must be closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[str] = []
        self.text = ""
        self.attributes: list[tuple[str, str, str | None]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        found = dict(attrs)
        self.ids += [found["id"]] if found.get("id") else []
        self.links += [found["href"]] if tag == "a" and found.get("href") else []
        self.headings += [tag] if re.fullmatch("h[1-6]", tag) else []
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_needs_no_network_and_is_well_formed():
    page = page_of(content())
    found = Structure(page)
    assert len(found.ids) == len(set(found.ids))
    assert all(link.removeprefix("#") in found.ids for link in found.links)
    assert not re.search(r"https?:|@import|url\(|<script|<link|<img|<iframe", page)
    assert ("html", "lang", "en") in found.attributes
    assert found.headings[0] == "h1"
    assert 'rides <v2> & "v1"' in found.text
    assert "<v2>" not in page


def test_the_page_has_plan_runs_dead_letters_and_verification():
    text = Structure(page_of(content())).text
    for fact in ("vendor_id", "lookup", "is left out", "1 field of the source dropped"):
        assert fact in text
    for fact in ("finished", "1,980,000", "Throughput of each batch", "14:13"):
        assert fact in text
    assert "lookup-missing" in text
    assert "8,000" in text
    assert "Not good." in text
    assert "partition 1, missing: 42" in text


def test_without_runs_and_reports_the_page_says_so():
    text = Structure(page_of(content(history=[], dead_letters=None, verification=None, problems=["fare: no"]))).text
    assert "No run is recorded in the checkpoint." in text
    assert "The dead-letter topic was not read." in text
    assert "No verification was given." in text
    assert "Not complete: 1 open." in text


def test_several_runs_are_listed_and_the_latest_with_records_is_drawn():
    idle = state(0, started_ts=START + 100_000, job="host:2", state=RunState.FAILED, error="the broker is away")
    text = Structure(page_of(content(history=[*content().history, idle]))).text
    assert "the broker is away" in text
    assert text.count("java") == 2
    assert "Throughput of each batch" in text


def test_values_and_sentences_are_hidden_by_default():
    page = page_of(content())
    for secret in ("ann@", "HELIX", "n0"):
        assert secret not in page
    assert HIDDEN in page


def test_requested_values_are_shown_but_those_of_tagged_fields():
    found = collect(DEAD, bridge=DECLARED.name, source="rides-v2", values=values())
    page = page_of(content(dead_letters=found))
    assert "HELIX is not in the table" in page
    assert "note: &#39;n0&#39;" in page
    assert "ann@" not in page
    assert [len(each) for each in found.examples.values()] == [3, 1, 1]
    assert found.counts["lookup-missing"] == 5


@pytest.mark.parametrize(
    ("schema", "metadata"),
    [
        (SOURCE | {"confluent:tags": ["PII"]}, None),
        (SOURCE, Metadata(tags={"Ride": frozenset({"pii"})})),
        ({**SOURCE, "fields": [{"name": "mail", "type": "string", "confluent:tags": ["PII"]}]}, None),
    ],
    ids=["the record", "metadata", "a field with an earlier name"],
)
def test_a_tag_that_cannot_be_told_from_other_fields_hides_everything(
    schema: dict[str, Any], metadata: Metadata | None
):
    found = collect(DEAD, bridge=DECLARED.name, source="rides-v2", values=values(schema, metadata))
    page = page_of(content(dead_letters=found))
    assert "ann@" not in page
    assert "n0" not in page


@pytest.mark.parametrize("field", ["$key", "$key.email"])
def test_a_sentence_about_a_key_is_hidden(field: str):
    untagged = {**SOURCE, "fields": [{"name": "mail", "type": "string"}]}
    letter = dead_letter(0, "unencodable", field, "ann@example.org is too long")
    (example,) = collect([letter], bridge=DECLARED.name, source="rides-v2", values=values(untagged)).examples[
        "unencodable"
    ]
    assert example.text == HIDDEN


def test_dead_letters_of_other_bridges_are_left_out():
    other = replace(DEAD[0], headers_=[*DEAD[0].headers_, ("bridge.via", b"another")])
    assert collect([other], bridge=DECLARED.name, source="rides-v2", values=None).records == 0
    assert collect([SimpleNamespace(headers=lambda: None)], bridge="b", source="s", values=None).records == 0
