"""The recipes in ``deploy/`` run as plain commands: what an engine or systemd would start."""

from __future__ import annotations

import base64
import json
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from local_services.process import Service

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
COUNTERFOIL = str(Path(sys.executable).with_name("counterfoil"))
INSTALLED = "/opt/counterfoil/bin/counterfoil"
"""Where the image and docs/deploying.md install the program."""


def commands_of(path: Path) -> list[list[str]]:
    """Return the commands in the comment at the top of a recipe."""
    lines = path.read_text().splitlines()
    comment = lines[: next(number for number, line in enumerate(lines) if not line.startswith("#"))]
    return [shlex.split(command) for line in comment for command in re.findall(r"^#   (\w.*)$", line)]


def run(arguments: Sequence[str], environment: Mapping[str, str], *, stdin: str = "") -> str:
    """Return the output of ``counterfoil`` with these arguments and this environment alone."""
    done = subprocess.run(
        [COUNTERFOIL, *arguments], env=environment, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class RunningServer:
    """``counterfoil serve`` with these arguments and variables at ``port``; a context manager that stops it."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], *, port: int, log: Path, probe: str
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.service = Service("the registry", [COUNTERFOIL, *arguments], log=log, environment=environment)
        self.service.wait_ready(lambda: self.ask(probe)[0] == 200)

    def ask(self, path: str, login: str | None = None, *, body: Any = None) -> tuple[int, bytes]:
        """Return status and body of the response to a GET, or to a POST of ``body``; 0 where nothing answers."""
        headers = {"Content-Type": "application/json"}
        if login is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers), timeout=60) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read()
        except OSError:
            return 0, b""

    def check_that_it_demands_credentials(self, login: str) -> None:
        """Check that the administrator may register, and that nobody may without credentials."""
        schema = {"schema": '"string"'}
        assert self.ask("/subjects/rides-value/versions", body=schema)[0] == 401
        status, answer = self.ask("/subjects/rides-value/versions", login, body=schema)
        assert (status, json.loads(answer)["id"]) == (200, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.service.stop() == 0
