"""Reading a dump of the ``_schemas`` topic line by line: keys and values, in the formats of several tools.

``kafka-console-consumer --property print.key=true`` prints key, tab, value, and before them other fields as requested
(``CreateTime:…``, ``Partition:…``, ``Offset:…``). JSON lines are ``{"key": …, "value": …}``, where both may be texts
with JSON, as ``kcat -J`` (with ``payload``) and ``rpk`` print them.

Source: Apache Kafka's documentation of its console consumer; kcat's documentation of its JSON output.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.moving.errors import MovingError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TIME: Final = re.compile(r"(?:CreateTime|LogAppendTime):(\d+)\t")
_OTHER: Final = re.compile(r"(?:NO_TIMESTAMP|Partition:\d+|Offset:\d+|NO_HEADERS|[\w.-]+:[^\t{}]*)\t")
_NULL: Final = ("", "null")
_TRAILER: Final = re.compile(r"Processed a total of \d+ messages?")


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """One record: key and value as JSON values, None for a tombstone; when it was written (epoch ms), if printed."""

    line: int
    key: dict[str, Any]
    value: dict[str, Any] | None
    ts: int | None = None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no record, and why."""

    line: int
    problem: str


def read_lines(path: Path) -> Iterator[TopicRecord | BadLine]:
    """Yield the records of a dump, in order; blank lines and the consumer's last line are skipped."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.rstrip(b"\r\n")
                if line.strip() and not _TRAILER.fullmatch(line.decode("utf-8", "replace").strip()):
                    yield _read(number, line)
    except (OSError, EOFError) as error:
        raise MovingError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _read(number: int, raw: bytes) -> TopicRecord | BadLine:
    try:
        line = raw.decode()
        return _as_json_line(number, line) or _as_printed(number, line)
    except UnicodeDecodeError:
        return BadLine(number, "this is not UTF-8")
    except (ValueError, RecursionError) as error:
        return BadLine(number, f"this is no record of a schemas topic ({error})")


def _as_json_line(number: int, line: str) -> TopicRecord | None:
    """Return the record in a JSON line; None if the line is none."""
    if not line.startswith("{"):
        return None
    try:
        document = json.loads(line)
    except ValueError:
        return None
    if "key" not in document:
        return None
    ts = document.get("ts", document.get("timestamp"))
    return TopicRecord(
        number,
        _key(_unwrapped(document["key"])),
        _value(_unwrapped(document.get("value", document.get("payload")))),
        ts if isinstance(ts, int) else None,
    )


def _as_printed(number: int, line: str) -> TopicRecord:
    """Return the record in a line that a console consumer printed."""
    ts = None
    while not line.startswith("{"):
        timed = _TIME.match(line)
        found = timed or _OTHER.match(line)
        if found is None:
            raise ValueError("it does not begin with a key in JSON; was it dumped with print.key=true?")
        ts = int(timed[1]) if timed else ts
        line = line[found.end() :]
    key, end = json.JSONDecoder().raw_decode(line)
    rest = line[end:]
    if not rest.startswith("\t"):
        raise ValueError("there is no tab after the key")
    return TopicRecord(number, _key(key), _value(_unwrapped(rest[1:].strip())), ts)


def _unwrapped(value: Any) -> Any:
    """Return a JSON value, parsed if it is a text with JSON."""
    if not isinstance(value, str):
        return value
    return None if value in _NULL else json.loads(value)


def _key(value: Any) -> dict[str, Any]:
    if isinstance(value, dict) and isinstance(value.get("keytype"), str):
        return value
    raise ValueError("its key is not a JSON object with a keytype")


def _value(value: Any) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value
    raise ValueError("its value is neither a JSON object nor null")
