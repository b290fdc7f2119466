"""The second half of the demo: the same change as an intended break of a contract, deployed in the right order."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.schema.rest.bridges import BridgeLimits, NewBridge
from counterfoil.schema.rest.contracts import Environment
from counterfoil.sdk import Registry, operations

if TYPE_CHECKING:
    from collections.abc import Callable

    from steps import Steps

HERE = Path(__file__).parent
BRIDGE = "rides-v2-to-v1"
_HOUR_S = 3600


class Agreements:
    """The contracts of the rides and of a consumer, ``payouts``, in ``folder``, and in the registry of ``client``.

    ``run`` runs counterfoil in a folder, expects an exit code, and returns what was printed.
    """

    def __init__(self, folder: Path, client: Registry, *, run: Callable[..., str], steps: Steps) -> None:
        self.repository = folder / "contracts"
        self.client = client
        self.run = run
        self.steps = steps

    def register_bridge(self) -> None:
        """Register the bridge, so that its job reports its progress."""
        limits = BridgeLimits(max_progress_age_s=_HOUR_S)
        plan = (HERE / "bridge.yaml").read_text()
        self.client.call(operations.register_bridge(NewBridge(plan=plan, owner="rides", limits=limits)))

    def check(self) -> None:
        """Find the break without a migration, and have it approved with one."""
        self._write(1)
        git = ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org"]
        for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Rides, version 1"]):
            subprocess.run([*git, *command], cwd=self.repository, check=True)
        self._copy("schemas/v2/ride_value.avsc", "schemas/ride_value.avsc")
        self._run("check", "--against", "main", "--consumers", "consumers", expected=1)
        self._write(2)
        printed = self._run("check", "--against", "main", "--consumers", "consumers", expected=0)
        self.steps.report(printed.splitlines()[-1])
        self.steps.report("the converter passed on generated records, and the break is approved until its sunset")

    def publish(self) -> None:
        """Publish both versions; only the old ones are live. The new one may not be deployed."""
        self.client.call(operations.put_environment(Environment("production", is_production=True)))
        self._write(1)
        self._release("rides", "1.0.0", "contracts")
        self._release("payouts", "1.0.0", "consumers")
        self._write(2)
        self._run("publish", "contracts", "--application", "rides", "--version", "2.0.0", expected=0)
        printed = self._run("can-i-deploy", "rides@2.0.0", "--environment", "production", expected=1)
        self.steps.show(printed)
        self.steps.report("the new producer has to wait: its converter is not live")

    def start(self) -> None:
        """Lead the bridge to the state before its verification."""
        self._release(BRIDGE, "1.0.0", "converter")
        for state in ("shadow", "running", "caught-up"):
            self._transit(state)

    def deploy(self) -> None:
        """Deploy producer and consumer, and retire the old version."""
        self._transit("verified")
        self.steps.show(self._run("can-i-deploy", "rides@2.0.0", "--environment", "production", expected=0))
        self._record("rides", "2.0.0")
        self._transit("cut-over")
        retire = ("can-i-deploy", "--retire", "rides@1", "--environment", "production")
        self.steps.show(self._run(*retire, expected=1))
        self._copy("contracts/payouts_v2.odps.yaml", "consumers/payouts.odps.yaml")
        self._release("payouts", "2.0.0", "consumers")
        self.steps.show(self._run(*retire, expected=0))
        self.steps.report("converter, producer, consumer: in this order; version 1 can be retired")

    def _write(self, version: int) -> None:
        for source, target in (
            (f"contracts/rides_v{version}.odcs.yaml", "contracts/rides.odcs.yaml"),
            (f"schemas/v{version}/ride_value.avsc", "schemas/ride_value.avsc"),
            ("contracts/payouts_v1.odps.yaml", "consumers/payouts.odps.yaml"),
            ("contracts/converter.odps.yaml", "converter/converter.odps.yaml"),
            ("bridge.yaml", "bridge.yaml"),
        ):
            self._copy(source, target)

    def _copy(self, source: str, target: str) -> None:
        (self.repository / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / source, self.repository / target)

    def _release(self, application: str, version: str, folder: str) -> None:
        self._run("publish", folder, "--application", application, "--version", version, expected=0)
        self._record(application, version)

    def _record(self, application: str, version: str) -> None:
        self._run("record", "deployment", f"{application}@{version}", "--environment", "production", expected=0)

    def _transit(self, state: str) -> None:
        self._run("bridges", "transition", BRIDGE, state, "--by", "demo", "--yes", expected=0)

    def _run(self, *arguments: str, expected: int) -> str:
        return self.run(*arguments, expected=expected, cwd=self.repository)
