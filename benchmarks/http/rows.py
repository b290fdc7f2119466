"""The rows of the table, as HTTP requests to a registry that ``generate.py`` has filled."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from load import ROOM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from generate import Shape
    from servers import Server

FIELDS: Final = 20

_HOT: Final = 1_000
_WIDE: Final = 50


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table, and its requests to a registry of a shape."""

    name: str
    requests: Callable[[Shape], list[bytes]]


def get(path: str) -> bytes:
    """Return a GET request."""
    return f"GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n".encode()


def post(path: str, schema: str) -> bytes:
    """Return a POST request with a schema."""
    body = body_of(schema)
    head = f"POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/vnd.schemaregistry.v1+json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def body_of(schema: str) -> bytes:
    """Return the body of a registration of a schema."""
    return json.dumps({"schema": schema}).encode()


def record(name: str, fields: int, *, added: str | None = None) -> str:
    """Return an Avro record; two that differ in ``added`` alone can read each other."""
    names = [f"field_{number}" for number in range(fields - (added is not None))] + ([added] if added else [])
    described: list[dict[str, Any]] = [{"name": each, "type": ["null", "string"], "default": None} for each in names]
    return json.dumps({"type": "record", "name": name, "namespace": "bench", "fields": described})


def widen(server: Server) -> None:
    """Register the subjects that new texts of :data:`FIELDS` fields are compared with; existing ones stay."""
    for number in range(_WIDE):
        status, answer = server.ask("POST", f"/subjects/wide-{number}/versions", body_of(_wide(number)))
        if status != 200:
            raise RuntimeError(answer.decode())


def _wide(number: int, *, added: str = "added") -> str:
    return record(f"Wide_{number}", FIELDS, added=added)


def _subjects(shape: Shape, count: int) -> Iterator[int]:
    """Return at most this number of subjects, from all parts of the registry."""
    return iter(range(1, shape.subjects + 1, max(1, shape.subjects // count)))


def _of_subjects(path: str, count: int = _HOT, *, method: str = "POST") -> Callable[[Shape], list[bytes]]:
    """Return a function for requests about the latest version of each of so many subjects."""

    def requests(shape: Shape) -> list[bytes]:
        each = [
            (path.format(shape.name(number)), shape.text(number, shape.versions)) for number in _subjects(shape, count)
        ]
        return [get(at) if method == "GET" else post(at, text) for at, text in each]

    return requests


def _ids(shape: Shape) -> list[bytes]:
    return [get(f"/schemas/ids/{number * shape.versions}") for number in _subjects(shape, _HOT)]


def _new_texts(_shape: Shape) -> list[bytes]:
    return [
        post(f"/compatibility/subjects/wide-{number}/versions/latest", _wide(number, added=f"tried_{ROOM}"))
        for number in range(_WIDE)
    ]


def new_subjects(_shape: Shape) -> list[bytes]:
    """Return requests that each register a new subject."""
    return [post(f"/subjects/new-{ROOM}/versions", record(f"New_{ROOM}", 10))]


def _new_versions(shape: Shape) -> list[bytes]:
    numbers = _subjects(shape, _HOT)
    return [post(f"/subjects/{shape.name(number)}/versions", _later(shape, number)) for number in numbers]


def _later(shape: Shape, number: int) -> str:
    """Return a version that is compatible with the existing ones in both directions."""
    document = json.loads(shape.text(number, shape.versions))
    document["fields"][-1]["name"] = f"later_{ROOM}"
    return json.dumps(document)


BY_ID: Final = Row("by id", _ids)
LATEST: Final = Row("latest", _of_subjects("/subjects/{}/versions/latest", method="GET"))
REPEAT: Final = Row("registration again", _of_subjects("/subjects/{}/versions"))
LOOK_UP: Final = Row("look-up", _of_subjects("/subjects/{}"))
KNOWN_PAIR: Final = Row("test of a known pair", _of_subjects("/compatibility/subjects/{}/versions/latest"))
NEW_TEXT: Final = Row(f"test of a new text, {FIELDS} fields", _new_texts)
LATEST_ANEW: Final = Row("latest, in new words", _of_subjects(f"/subjects/{{}}/versions/latest?n={ROOM}", method="GET"))
REPEAT_ANEW: Final = Row("registration again, in new words", _of_subjects(f"/subjects/{{}}/versions?n={ROOM}"))
LOOK_UP_ANEW: Final = Row("look-up, in new words", _of_subjects(f"/subjects/{{}}?n={ROOM}"))
NEW_SUBJECT: Final = Row("new subject", new_subjects)
NEW_VERSION: Final = Row("new version, checked", _new_versions)

AT_HAND: Final = (BY_ID, LATEST, REPEAT, LOOK_UP, KNOWN_PAIR)
"""Rows of a thousand requests that are repeated."""

READS: Final = (*AT_HAND, NEW_TEXT)
FIRST: Final = tuple(Row(f"{row.name}, asked first", row.requests) for row in (BY_ID, LATEST, REPEAT, LOOK_UP))
"""Rows for a server that has cached nothing: different requests from all parts of a registry."""

WRITES: Final = (NEW_SUBJECT, NEW_VERSION)


def every_id(shape: Shape, count: int) -> list[bytes]:
    """Return GET requests of so many different ids."""
    return [get(f"/schemas/ids/{number}") for number in range(1, min(count, shape.size) + 1)]
