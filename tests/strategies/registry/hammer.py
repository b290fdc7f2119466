"""Many clients in many processes that send random requests to one registry at once, from a seed."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from strategies.registry.hammer_clients import CHURNED, IMPORTED, KEPT, HammerClient
from strategies.registry.hammer_pages import untruths_at_rest
from strategies.registry.invariants import Connection, Story, violations

if TYPE_CHECKING:
    from collections.abc import Sequence


_GRACE_S: Final = 300
_SHOWN: Final = 20
_PAGE: Final = 1000


@dataclass(slots=True)
class Blows:
    """The result: the writes, the responses by kind of request and code, and the violations."""

    story: Story = field(default_factory=Story)
    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    slowest_s: float = 0.0

    def __str__(self) -> str:
        requests, acknowledged = sum(self.counts.values()), self.story.acknowledged()
        codes: Counter[int] = Counter()
        for (_, code), count in self.counts.items():
            codes[code] += count
        pages = self.counts["page of one change", 200], self.counts["page of a change or later", 200]
        shown = f"{pages[0]} pages of one change and {pages[1]} of one or a later one"
        written = f"{acknowledged} writes acknowledged, {shown}, the slowest answer after {self.slowest_s:.1f} s"
        return f"{requests} requests, {written}; answers by code: {dict(sorted(codes.items()))}"


def hammer(urls: Sequence[str], *, seconds: float, processes: int, clients: int, seed: int) -> Blows:
    """Send requests for ``seconds`` from ``processes`` of ``clients`` threads each, to any of ``urls``."""
    _prepare(urls[0])
    blows = Blows()
    until = time.monotonic() + seconds
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        parts = [
            pool.submit(_one_process, list(urls), until, clients, f"{seed}-{number}") for number in range(processes)
        ]
        for part in parts:
            done = part.result(timeout=seconds + _GRACE_S)
            blows.story.extend(done.story.operations)
            blows.counts.update(done.counts)
            blows.complaints.extend(done.complaints)
            blows.slowest_s = max(blows.slowest_s, done.slowest_s)
    return blows


def aftermath(urls: Sequence[str], blows: Blows, *, seed: int, max_lookups: int = 300) -> list[str]:
    """Return a sentence for each violation in the responses during the load and in the present content."""
    found = blows.complaints[:_SHOWN]
    listings = {url: _listed(url, "/schemas?deleted=true&subjectPrefix=:*:") for url in urls}
    first = listings[urls[0]]
    found += [f"{url} lists other schemas than {urls[0]}" for url, listing in listings.items() if listing != first]
    found += _idle_references(_listed(urls[0], "/schemas?subjectPrefix="))
    found += _pages_at_rest(urls[0])
    found += violations(urls[-1], blows.story, seed=seed, max_lookups=max_lookups)
    if not blows.story.acknowledged():
        found.append("not one write was acknowledged")
    return found


def _pages_at_rest(url: str) -> list[str]:
    connection = Connection(url)
    found = untruths_at_rest(connection, [*KEPT, *CHURNED])
    connection.close()
    return found


def _listed(url: str, path: str) -> list[dict[str, Any]]:
    """Return all pages of a listing."""
    connection = Connection(url)
    listed: list[dict[str, Any]] = []
    while len(listed) % _PAGE == 0:
        page = connection.get(f"{path}&limit={_PAGE}&offset={len(listed)}")
        listed += page
        if not page:
            break
    connection.close()
    return listed


def _idle_references(active: list[dict[str, Any]]) -> list[str]:
    """Return the references of active versions to deleted ones, which no sequence of writes may cause."""
    places = {(each["subject"], each["version"]) for each in active}
    return [
        f"{each['subject']} version {each['version']} is active and refers to {reference}, which is not"
        for each in active
        for reference in each.get("references", ())
        if (reference["subject"], reference["version"]) not in places
    ]


def _prepare(url: str) -> None:
    connection = Connection(url)
    for subject in IMPORTED:
        reply = connection.ask("PUT", f"/mode/{subject}", {"mode": "IMPORT"})
        assert reply is not None, f"no answer from {url}"
        assert reply.status == 200, reply
    connection.close()


def _one_process(urls: list[str], until: float, clients: int, seed: str) -> Blows:
    """Run all clients of one process, each on a thread of its own."""
    blows = Blows()
    strikers = [HammerClient(urls, blows.story, seed=f"{seed}-{number}") for number in range(clients)]

    def strike(striker: HammerClient) -> None:
        try:
            striker.run(until)
        except Exception as error:  # noqa: BLE001 - a client that breaks is told of, not lost with its thread
            blows.complaints.append(f"a client broke: {error!r}")

    threads = [threading.Thread(target=strike, args=(striker,)) for striker in strikers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for striker in strikers:
        blows.counts.update(striker.counts)
        blows.complaints.extend(striker.complaints)
        blows.slowest_s = max(blows.slowest_s, striker.slowest_s)
    return blows
