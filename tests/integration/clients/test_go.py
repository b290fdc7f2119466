"""franz-go's registry client, unchanged, against a running registry. The tests themselves are Go's, in ``go/``."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from local_services.golang import go_environment, go_program

if TYPE_CHECKING:
    from local_services import RegistryProcess
    from strategies.access.certified_registry import CertifiedRegistry
    from strategies.access.guarded_registry import GuardedRegistry

FOLDER = Path(__file__).with_name("go")


def test_of_the_go_client(
    live_registry: RegistryProcess, guarded_registry: GuardedRegistry, certified_registry: CertifiedRegistry
):
    known = guarded_registry.environment(REGISTRY_URL=live_registry.url, **certified_registry.environment())
    done = subprocess.run(
        [go_program(), "test", "-count=1", "-json", "./..."],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=1200,  # the first run fetches the module and compiles the standard library
        check=False,
        env={**known, **go_environment()},
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    said = "".join(event.get("Output", "") for event in events)
    assert done.returncode == 0, said + done.stderr
    passed = {event["Test"] for event in events if event["Action"] == "pass" and "Test" in event}
    assert len(passed) == sum(path.read_text().count("\nfunc Test") for path in FOLDER.glob("*_test.go"))
