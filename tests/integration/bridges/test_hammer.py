"""Bridges under kills, stops and a full disk; no record may be lost, and none repeated where the delivery says so.

Three scenarios here; thirty with ``make hammer-bridge``. The seed is printed; HAMMER_SEED repeats the same scenarios.
"""

from __future__ import annotations

import os
import random
import sys
from typing import TYPE_CHECKING

from local_services import KafkaBroker, RegistryProcess
from strategies.bridges.hammer import World, scenarios
from strategies.machine.warm_commands import install

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

KILLS = int(os.environ.get("HAMMER_KILLS", "3"))
SEED = int(os.environ.get("HAMMER_SEED") or random.randrange(10**6))


def test_no_fault_loses_or_repeats_a_record(
    warm_counterfoil: Path, open_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KafkaBroker() as broker, RegistryProcess() as registry:
        world = World(broker, registry, tmp_path, warm_counterfoil, install(open_folder))
        found = []
        for scenario in scenarios(KILLS, seed=SEED):
            with capsys.disabled():
                sys.stdout.write(f"\nbridge hammer, HAMMER_SEED={SEED}, {scenario}")
                sys.stdout.flush()
            found += world.carry_out(scenario)
            with capsys.disabled():
                sys.stdout.write(f"; {world.lines[-1].rpartition('; ')[2]}")
    assert not found, "\n".join([f"HAMMER_SEED={SEED}", *found])
