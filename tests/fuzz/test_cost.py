"""A short search for small inputs that take long: each try ends by itself, and in a bounded time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEARCH = Path(__file__).with_name("cost.py")
GROUPS = ("judge", "sound", "plan", "reads", "others")
LIMITS = {"COST_LIMIT_S": "50", "COST_LIMIT_MB": "500"}  # ten times what is reached: other work may take the processor


def _targets(group: str) -> list[str]:
    if group == "others":
        return [
            *(f"{kind}-{each}" for kind in ("read", "changes", "sketch") for each in LANGUAGES),
            "cel-rust",
            "cel-python",
            "documents",
            "paths",
        ]
    return [f"{group}-{each}" for each in LANGUAGES]


LANGUAGES = ("JSON", "AVRO", "PROTOBUF")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", GROUPS)
def test_small_inputs_do_not_take_long(group: str):
    environment = {**os.environ, **LIMITS, "FUZZ_TRIES": "4", "FUZZ_SEED": "7", "FUZZ_MAX_BYTES": "6000"}
    search = subprocess.run(
        [sys.executable, str(SEARCH), *_targets(group)], env=environment, capture_output=True, text=True, check=False
    )
    assert search.returncode == 0, search.stdout + search.stderr
