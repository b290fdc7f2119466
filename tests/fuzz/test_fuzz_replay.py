"""What fuzzing found once, and what it begins with, on each run: no foreign error, no hang, no heap of memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from mutations import mutate
from targets import LANGUAGES, TARGETS, crash_files, run, seeds

LIMIT_S = 2.0  # of the processor; a machine that does other things as well is no failure
LIMIT_KB = 300_000
MUTATED = 150
SEEDS = 60
each_target = pytest.mark.parametrize(("language", "kind"), TARGETS)


def some_seeds(language: str, kind: str) -> list[bytes]:
    every = list(seeds(language, kind))
    return every[:: len(every) // SEEDS + 1]


@each_target
def test_what_broke_once_breaks_no_more(language: str, kind: str):
    for path in crash_files(language, kind):
        run(language, kind, path.read_bytes(), limit_s=LIMIT_S)


@pytest.mark.parametrize(("language", "kind"), [one for one in TARGETS if one[1] != "stretch"])
def test_what_fuzzing_begins_with_breaks_nothing(language: str, kind: str):
    inputs = some_seeds(language, kind)
    assert inputs
    for data in inputs:
        run(language, kind, data, limit_s=LIMIT_S)


@each_target
def test_what_becomes_of_it_breaks_nothing(language: str, kind: str):
    """A few mutations, the same ones each time; ``make fuzz`` tries many more, guided by coverage."""
    inputs = some_seeds(language, kind) if kind != "stretch" else []
    random = Random(1)
    for number in range(MUTATED if inputs else 0):
        run(language, kind, mutate(language, kind, random.choice(inputs), seed=number), limit_s=LIMIT_S)


@pytest.mark.parametrize("language", LANGUAGES)
def test_large_inputs_take_a_bounded_amount_of_time_and_memory(language: str):
    """In a process of its own, whose peak is that of these inputs alone."""
    program = f"""
import re
from pathlib import Path
from targets import run, seeds
for data in seeds({language!r}, "stretch"):
    for kind in ("stretch", "show"):
        run({language!r}, kind, data, limit_s={LIMIT_S})
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])  # not what the parent had at the fork
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < LIMIT_KB
