"""The engine ``java`` on a cluster: its classes reach executors that are processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "engine_on_cluster.py"


def test_executors_of_a_cluster_get_the_class() -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, PROGRAM, "local-cluster[2,1,512]"],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == ["executors 2, records 1209 of 1209, wrong 0"], done.stderr[-3000:]
