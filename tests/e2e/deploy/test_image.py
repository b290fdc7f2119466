"""The container image's steps, run as plain commands: what the Dockerfile does, without a container engine."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from local_services import free_port, wait_until
from local_services.process import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
LIST_STRANGERS = """
import counterfoil.registry, fastapi
from importlib.util import find_spec
print([name for name in ("pyspark", "pytest", "mypy") if find_spec(name)])
"""


def _is_readable_by_all(path: Path) -> bool:
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.resolve().parents)


def _python_for_everyone() -> str:
    """An interpreter that a user other than us may run: the image's python is one."""
    for candidate in (sys.base_prefix + "/bin/python3", "/usr/bin/python3", "/usr/local/bin/python3"):
        path = Path(candidate)
        if path.exists() and (os.geteuid() != 0 or _is_readable_by_all(path)):
            return candidate
    pytest.fail("no Python interpreter here can be run by another user; install python3 system-wide")


@pytest.fixture(scope="module")
def image(open_folder: Path) -> Path:
    """The folder that the build stage makes, as the second stage would copy it."""
    opt = open_folder / "counterfoil"
    subprocess.run(
        ["sh", ROOT / "deploy/image/build.sh", ROOT, opt, _python_for_everyone()], check=True, stdout=subprocess.DEVNULL
    )
    shutil.copy(ROOT / "deploy/image/health.py", opt / "health.py")
    data = open_folder / "data"
    data.mkdir()
    if os.geteuid() == 0:
        os.chown(data, 10001, 10001)
    return open_folder


def test_every_build_step_is_a_script_that_is_tested_here():
    runs = re.findall(r"^RUN (.*)$", DOCKERFILE, re.MULTILINE)
    assert runs == [
        "sh /source/deploy/image/dependencies.sh /source /opt/counterfoil",
        "sh /source/deploy/image/package.sh /source /opt/counterfoil",
        "mkdir /data && chown 10001:10001 /data",
    ]


def test_the_layer_of_the_dependencies_needs_no_file_but_those_that_say_which():
    """The files that are copied before it are all that it reads, so that no change of the code builds it anew."""
    before = DOCKERFILE[: DOCKERFILE.index("RUN sh /source/deploy/image/dependencies.sh")]
    copied = re.findall(r"^COPY (\S+) /source/(\S+)$", before, re.MULTILINE)
    assert {source for source, _ in copied} == {"deploy/bootstrap.txt", "deploy/image"}
    script = (ROOT / "deploy/image/dependencies.sh").read_text()
    read = set(re.findall(r'"\$source/(\S+)"', script))
    assert read == {"deploy/bootstrap.txt", "deploy/image/requirements.txt"}


def test_the_base_image_is_pinned_by_its_digest():
    assert re.search(r"^ARG PYTHON_IMAGE=python:3\.13-slim@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"${PYTHON_IMAGE}"}


def test_the_container_runs_as_a_numbered_user_that_is_not_root():
    last_stage = DOCKERFILE.split("FROM ")[-1]
    assert "USER 10001:10001" in last_stage
    assert last_stage.index("USER") < last_stage.index("ENTRYPOINT")


def test_the_image_holds_the_registry_and_no_spark(image: Path):
    listed = subprocess.run(
        [image / "counterfoil/bin/python", "-c", LIST_STRANGERS], capture_output=True, text=True, check=True
    )
    assert listed.stdout.strip() == "[]"


def test_the_built_registry_serves_as_an_unprivileged_user_that_owns_only_its_data(image: Path):
    settings = dict(re.findall(r"(COUNTERFOIL_\w+)=(\S+)", DOCKERFILE))
    port = free_port()
    environment = {
        **settings,
        "COUNTERFOIL_HOST": "127.0.0.1",
        "COUNTERFOIL_PORT": str(port),
        "COUNTERFOIL_STORE": settings["COUNTERFOIL_STORE"].replace("/data", str(image / "data")),
    }
    user: dict[str, Any] = {"user": 10001, "group": 10001, "extra_groups": []} if os.geteuid() == 0 else {}
    server = subprocess.Popen(
        [image / "counterfoil/bin/counterfoil", "serve"], cwd=image / "data", env=environment, **user
    )
    try:
        health = [image / "counterfoil/bin/python", image / "counterfoil/health.py"]
        wait_until(
            lambda: subprocess.run(health, env=environment, check=False, capture_output=True).returncode == 0,
            what="the health check of the built registry",
        )
        body = b'{"schema": "\\"string\\""}'
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/subjects/s/versions", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as reply:
            assert b'"id":1' in reply.read().replace(b" ", b"")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ui/subjects") as reply:
            assert b'href="/ui/subjects/s"' in reply.read()
        wait_until((image / "data" / "counterfoil.db.search").is_file, what="the search index")
        assert min(path.name for path in (image / "data").iterdir()).startswith("counterfoil.db")
    finally:
        server.terminate()
        assert server.wait(PATIENCE_S) == 0
