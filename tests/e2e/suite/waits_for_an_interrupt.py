"""A test that starts services and waits for ever: ``test_interrupt.py`` runs it, nothing else collects it."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local_services import RUN_FOLDER, RegistryProcess

if TYPE_CHECKING:
    from local_services import PostgresClient


@pytest.mark.parametrize("number", range(2))
def test_waits(number: int, postgres: PostgresClient) -> None:
    port = RegistryProcess(store=postgres.create_database(f"waiting_{number}")).port
    started = Path(os.environ["STARTED_HERE"])
    facts = {"ports": [port, postgres.port], "folder": os.environ[RUN_FOLDER]}
    (started / f"{number}.unfinished").write_text(json.dumps(facts))
    (started / f"{number}.unfinished").rename(started / f"{number}.ports")
    threading.Event().wait()
