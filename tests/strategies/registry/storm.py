"""Threads that send all kinds of writes to registries without a pause, and record the outcome of each."""

from __future__ import annotations

import json
import random
import threading
from typing import TYPE_CHECKING, Final, Self

from strategies.registry.invariants import Client, Story

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from strategies.registry.invariants import Reply

EXPECTED: Final = frozenset({200, 404, 409, 422})
PATIENT: Final = {"COUNTERFOIL_WRITE_TIMEOUT_S": "300", "COUNTERFOIL_REQUEST_TIMEOUT_S": "300"}
"""Settings of a registry that refuses no write because the machine is busy."""

UNAVAILABLE_CODES: Final = frozenset({50001, 50002})


def record(name: str, *fields: str, **typed: str) -> str:
    """Return a record schema that is compatible with any other of this name; ``typed`` are fields of named types."""
    plain = [{"name": field, "type": "int", "default": 0} for field in fields]
    named = [{"name": field, "type": ["null", kind], "default": None} for field, kind in typed.items()]
    return json.dumps({"type": "record", "name": name, "fields": plain + named})


def is_typed_503(reply: Reply) -> bool:
    """Return whether a response is a 503 with all its required parts."""
    body = reply.json
    return (
        reply.status == 503
        and int(reply.headers.get("retry-after", "0")) >= 1
        and isinstance(body, dict)
        and body.get("error_code") in UNAVAILABLE_CODES
        and any(advice in body["message"] for advice in ("try", "put it back", "to register again", "restore"))
    )


class Storm:
    """A context manager; ``urls`` name a registry for each thread.

    ``story`` has the writes; ``refusals`` all responses that were 503, and ``surprises`` those that should never occur.
    Subjects ``kept…`` have registrations alone, subjects ``mixed…`` all operations.
    """

    def __init__(self, urls: Sequence[str], *, story: Story | None = None, seed: int = 1, name: str = "n") -> None:
        self.story = story or Story()
        self.refusals: list[Reply] = []
        self.surprises: list[tuple[int, object]] = []
        self._name = name
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(url, number, random.Random(f"{seed} {number}")))
            for number, url in enumerate(urls)
        ]

    def _run(self, url: str, number: int, chance: random.Random) -> None:
        client = Client(url, self.story)
        turn = 0
        while not self._ended.is_set():
            turn += 1
            reply = self._operation(client, chance, f"{self._name}_{number}_{turn}")
            if reply is None:
                self._ended.wait(0.02)  # nothing listens; the pause avoids a busy loop
            elif reply.status == 503 and is_typed_503(reply):
                self.refusals.append(reply)
            elif reply.status not in EXPECTED:
                self.surprises.append((reply.status, reply.json))
        client.close()

    def _operation(self, client: Client, chance: random.Random, unique: str) -> Reply | None:
        kept, mixed = f"kept{chance.randrange(6)}", f"mixed{chance.randrange(4)}"
        match chance.randrange(20):
            case 0 | 1 as permanent:
                return client.delete(mixed, version=chance.randrange(1, 9), permanent=bool(permanent))
            case 2 if chance.randrange(2) == 0:
                return client.delete(mixed, permanent=chance.randrange(2) == 0)
            case 3:
                return client.set(kept, chance.choice(["NONE", "BACKWARD", "FULL"]))
            case 5 | 6:
                return client.register(
                    chance.choice([kept, mixed]), record("U", unique, r="R"), references=(("R", kept, 1),)
                )
            case 7 | 8:
                return client.ask("GET", f"/subjects/{chance.choice([kept, mixed])}/versions/latest")
            case 9:
                return client.ask("GET", f"/schemas/ids/{chance.randrange(1, 40)}")
            case 10:
                return client.ask("GET", "/subjects?deleted=true")
            case 11 | 12 | 13:
                return client.register(mixed, record("R", f"f{chance.randrange(30)}"))
            case _:
                return client.register(kept, record("R", unique))

    def end(self) -> None:
        """Return when no thread writes any more."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def is_said(part: str, storm: Storm) -> bool:
    """Return whether a refusal so far has ``part`` in its message."""
    return any(part in reply.json["message"] for reply in list(storm.refusals))
