"""``counterfoil bridge`` as a user starts it, with the addresses of a broker and a registry."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_services import connector_jars

if TYPE_CHECKING:
    from pathlib import Path

    from local_services import KafkaClient, RegistryProcess

DEADLINE_S = 600


@dataclass
class BridgeProgram:
    """The program, its services, and the folder in which it runs."""

    counterfoil: Path
    broker: KafkaClient
    registry: RegistryProcess
    folder: Path

    def environment(self) -> dict[str, str]:
        """Return the variables of this process, with the addresses of the services."""
        return {
            **os.environ,
            "COUNTERFOIL_REGISTRY_URL": self.registry.url,
            "COUNTERFOIL_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers,
            "COUNTERFOIL_JARS": str(connector_jars()),
        }

    def start(
        self, *arguments: str, program: Path | None = None, output: Any = subprocess.PIPE, **environment: str
    ) -> subprocess.Popen[str]:
        """Start a sub-command in a process group of its own; ``output`` receives both streams if it is a file."""
        return subprocess.Popen(
            [program or self.counterfoil, "bridge", *arguments],
            cwd=self.folder,
            env={**self.environment(), **environment},
            stdout=output,
            stderr=output,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        """Return the exit code of a sub-command, its output and its errors."""
        with self.start(*arguments, program=None, output=subprocess.PIPE, **environment) as process:
            try:
                said, complained = process.communicate(timeout=DEADLINE_S)
            finally:
                end(process)
        assert "Traceback" not in complained, complained
        return process.returncode, said, complained


def code_of(process: subprocess.Popen[str]) -> int:
    """Wait for a process, and return its exit code; kill it if it does not end."""
    try:
        return process.wait(DEADLINE_S)
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process group that still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
