"""Where the services are, the topics, and the rides of the file as records."""

from __future__ import annotations

import csv
import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BROKER = os.environ.get("BROKER", "localhost:9092")
REGISTRY = os.environ.get("REGISTRY", "http://localhost:8081")
AVRO_TOPIC = os.environ.get("AVRO_TOPIC", "taxi-rides")
JSON_TOPIC = os.environ.get("JSON_TOPIC", "taxi-rides-json")

HERE = Path(__file__).parent
RIDES = HERE.parent / "rides" / "rides.csv"


def schema(name: str) -> str:
    """Return the text of a schema file."""
    return (HERE / "schemas" / name).read_text()


def rows(count: int) -> Iterator[dict[str, str]]:
    """Yield the first ``count`` rides of the file."""
    with RIDES.open() as file:
        yield from islice(csv.DictReader(file), count)


def total_amount(row: dict[str, str], version: int) -> float | str:
    """Return the amount as version 1 has it, a number, or as version 2, a text."""
    amount = float(row["total_amount"])
    return amount if version == 1 else f"{amount:.2f}"
