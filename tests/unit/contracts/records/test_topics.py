"""Where the reading of topics starts, records and reads in files, and what is printed of a topic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from counterfoil.contracts.check.migrated_values import RecordedTopics
from counterfoil.contracts.deploy.usage import markdown_topic, read_batches
from counterfoil.contracts.records.topic import Start
from counterfoil.schema.rest.observations import SchemaCount, TopicStats

if TYPE_CHECKING:
    from pathlib import Path

BOUNDS = {0: (5, 20), 1: (0, 8), 2: (3, 3)}


class OneTopic:
    """A topic in which some records of partition 0 are later than any moment; ``requests`` has those for offsets."""

    def __init__(self) -> None:
        self.requests: list[int] = []

    def offsets_at(self, moment_ms: int) -> dict[int, int]:
        self.requests.append(moment_ms)
        return {0: 12}


@pytest.mark.parametrize(
    ("text", "offsets", "requests"),
    [
        ("beginning", [5, 0, 3], []),
        ("end", [20, 8, 3], []),
        ("7", [7, 7, 7], []),
        ("-10", [10, 0, 3], []),
        ("1970-01-01T00:00:01Z", [12, 8, 3], [1000]),
    ],
)
def test_offsets_of_all_partitions_need_one_request(text: str, offsets: list[int], requests: list[int]) -> None:
    topic = OneTopic()
    assert [*Start.parse(text).offsets(topic, BOUNDS).values()] == offsets  # type: ignore[arg-type]
    assert topic.requests == requests


def test_a_line_of_json_does_not_end_at_the_line_ends_of_other_alphabets(tmp_path: Path) -> None:
    value = {"name": "a\u2028b\u2029c\x85d"}
    line = json.dumps({"topic": "t", "value": value}, ensure_ascii=False)
    (tmp_path / "t.jsonl").write_text(f"{line}\r\n\n{line}", encoding="utf-8")
    assert RecordedTopics(str(tmp_path)).values("t") == (value, value)
    batch = {"kind": "usage", "application": value["name"], "reads": []}
    (tmp_path / "usage.jsonl").write_text(json.dumps(batch, ensure_ascii=False) + "\n", encoding="utf-8")
    assert read_batches(tmp_path / "usage.jsonl") == [batch]


def test_a_bar_in_a_cell_is_escaped_once() -> None:
    stats = TopicStats("orders", schemas=(SchemaCount(7, 2, "a|b-value", 1),))
    assert "| 7 | 2 | a\\|b-value | 1 |" in markdown_topic(stats)
