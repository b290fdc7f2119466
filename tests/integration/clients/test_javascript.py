"""Confluent's JavaScript client and serializers, unchanged, against a running registry, on Node.js.

The tests themselves are the ``*.test.cjs`` beside this file, run by Node's own runner.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local_services.javascript import node_packages, node_program

if TYPE_CHECKING:
    from local_services import RegistryProcess
    from strategies.access.certified_registry import CertifiedRegistry
    from strategies.access.guarded_registry import GuardedRegistry

FOLDER = Path(__file__).with_name("javascript")


@pytest.mark.parametrize("tests", sorted(FOLDER.glob("*.test.cjs")), ids=lambda path: path.name.partition(".")[0])
def test_of_the_javascript_client(
    tests: Path,
    live_registry: RegistryProcess,
    guarded_registry: GuardedRegistry,
    certified_registry: CertifiedRegistry,
):
    known = {"NODE_PATH": str(node_packages(FOLDER)), "REGISTRY_URL": live_registry.url}
    environment = guarded_registry.environment(**known, **certified_registry.environment())
    done = subprocess.run(
        [node_program(), "--test", "--test-reporter=tap", tests],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = dict(line.removeprefix("# ").split(" ", 1) for line in done.stdout.splitlines() if line.startswith("# "))
    assert int(counts["pass"]) == tests.read_text().count("\ntest("), done.stdout
