"""A standalone cluster of Spark on this machine: a master, and two workers with one core each."""

from __future__ import annotations

import json
import os
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from local_services.process import Service, free_port

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_WORKERS: Final = 2


class SparkCluster:
    """A cluster that is used as a context manager; ``url`` is for ``--master``, ``home`` the folder of its programs."""

    def __init__(self, folder: Path) -> None:
        spec = find_spec("pyspark")
        if spec is None or spec.origin is None:
            raise RuntimeError("PySpark is not installed")
        self.home = Path(spec.origin).parent
        self.environment = {"SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1"}
        port, self._page = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{port}"
        places = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(self._page)]
        self._services = [self._start(folder, "master", "master.Master", places)]
        self._services += [
            self._start(
                folder, f"worker-{number}", "worker.Worker",
                ["--host", "127.0.0.1", "--cores", "1", "--memory", "1500m", "--webui-port", str(free_port()),
                 "--work-dir", str(folder / f"worker-{number}"), self.url],
            )
            for number in range(_WORKERS)
        ]  # fmt: skip

    def _start(self, folder: Path, name: str, program: str, arguments: list[str]) -> Service:
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}", *arguments]
        environment = {**self.environment, "SPARK_DAEMON_MEMORY": "256m"}
        environment["JAVA_TOOL_OPTIONS"] = os.environ.get("SPARK_SUBMIT_OPTS", "")  # executors inherit them
        return Service(f"Spark's {name}", command, log=folder / f"{name}.log", environment=environment)

    def _state(self) -> dict[str, object]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=5) as page:
                state: dict[str, object] = json.load(page)
        except OSError:
            return {}
        return state

    def __enter__(self) -> Self:
        self._services[0].wait_ready(lambda: self._state().get("aliveworkers") == _WORKERS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for service in reversed(self._services):
            service.stop()
