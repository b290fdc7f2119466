"""Many processes of many clients strike one registry at once; nothing acknowledged may be lost, nothing may break.

Short here; at length with ``make hammer``. The seed is printed; HAMMER_SEED strikes with the same requests again, in
whatever order the machine makes of them.
"""

from __future__ import annotations

import os
import random
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from local_services import RegistryProcess
from strategies.registry.hammer import aftermath, hammer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

SECONDS = float(os.environ.get("HAMMER_SECONDS", "4"))
SEED = int(os.environ.get("HAMMER_SEED") or random.randrange(10**6))
PROCESSES, CLIENTS = 4, 32


def strike(store: str, nodes: Sequence[RegistryProcess], capsys: pytest.CaptureFixture[str]) -> None:
    urls = [node.url for node in nodes]
    blows = hammer(urls, seconds=SECONDS, processes=PROCESSES, clients=CLIENTS, seed=SEED)
    with capsys.disabled():
        sys.stdout.write(f"\nhammer, {store}, {len(urls)} node(s), {SECONDS:g} s, HAMMER_SEED={SEED}: {blows}\n")
    found = aftermath(urls, blows, seed=SEED)
    found += [f"{node.url} printed:\n{node.log_tail()}" for node in nodes if "Traceback" in node.log_tail()]
    assert not found, "\n".join([f"HAMMER_SEED={SEED}", *found])


def test_sqlite_under_the_hammer(capsys: pytest.CaptureFixture[str]):
    with RegistryProcess() as registry:
        strike("SQLite", [registry], capsys)


def test_postgres_with_four_servers_under_the_hammer(postgres_url: str, capsys: pytest.CaptureFixture[str]):
    with ExitStack() as stack:
        nodes = [stack.enter_context(RegistryProcess(store=postgres_url)) for _ in range(PROCESSES)]
        strike("PostgreSQL", nodes, capsys)
