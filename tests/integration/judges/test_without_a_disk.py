"""Judges where nothing can be written, and where no process can be had: what is answered, and what is not."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.judges.processes import JudgeLimits, JudgeProcesses, Mailbox
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024
FIELDS = 600

READ_ONLY = """\
import errno, os, sys

NEW = {"os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.truncate", "os.mknod"}

def refuse(event, given):
    if event in NEW:
        raise OSError(errno.EROFS, "a read-only file system", str(given[0]))
    if event == "open" and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        if not str(given[0]).startswith(("/proc/", "/dev/")) and not isinstance(given[0], int):
            raise OSError(errno.EROFS, "a read-only file system", str(given[0]))

sys.addaudithook(refuse)
"""
"""What each process of the test runs at its start: it refuses whatever a read-only root file system refuses."""

PROGRAM = """\
import asyncio, os
from pathlib import Path
from counterfoil.registry.judges.processes import JudgeLimits, JudgeProcesses, Mailbox
from counterfoil.schema.compatibility.policies import parse_level

try:
    Path("/tmp/counterfoil-is-written").write_text("")
except OSError as refused:
    print(refused.strerror)

async def story():
    processes = JudgeProcesses(Mailbox(2), JudgeLimits(30.0, 512 * 1024 * 1024))
    print(await processes.start(parse_level, "full"))
    children = [each for task in Path("/proc/self/task").glob("*/children") for each in task.read_text().split()]
    for each in children:
        variables = Path(f"/proc/{each}/environ").read_bytes().decode().split("\\0")
        print(*sorted(one for one in variables if one.startswith(("HOME=", "TMPDIR=", "PYTHONPATH="))))
        print(os.readlink(f"/proc/{each}/cwd"))
    processes.close()

asyncio.run(story())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the test looks at /proc, where nobody can make a file")
def test_judges_start_where_nothing_can_be_written(tmp_path: Path) -> None:
    """Neither in the folder of the program, at home, nor among temporary files."""
    (tmp_path / "sitecustomize.py").write_text(READ_ONLY)
    search = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {**os.environ, "PYTHONPATH": search, "HOME": "/proc", "TMPDIR": "/proc"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd="/proc", env=variables, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        "a read-only file system",
        "FULL",
        f"HOME=/proc PYTHONPATH={search} TMPDIR=/proc",
        "/proc",
    ], done.stderr


def large(number: int, kind: str = "int") -> dict[str, Any]:
    """A schema that is parsed by a judge, since its text has more than 8 kB."""
    fields = [{"name": f"field_{at}", "type": kind} for at in range(FIELDS)]
    return {"schema": json.dumps({"type": "record", "name": f"R{number}", "fields": fields})}


@pytest.mark.parametrize("program", ["/absent/python", "/bin/false"])
def test_without_processes_large_texts_are_refused_and_small_ones_are_answered(program: str) -> None:
    async def story() -> None:
        judges = JudgeProcesses(Mailbox(2), JudgeLimits(30.0, 512 * MIB), python=program)
        registry = InProcessRegistry(judges=judges)
        assert (await registry.post("/subjects/small/versions", {"schema": '"int"'})).status == 200
        for path in ("/subjects/s/versions", "/subjects/small", "/compatibility/subjects/small/versions?verbose=true"):
            refused = await registry.post(path, large(1))
            assert (refused.status, refused.code) == (503, 50010), path
            assert "No process that compares schemas can be started" in refused.json["message"]
            assert refused.headers["retry-after"]
        assert (await registry.get("/subjects")).json == ["small"]
        assert (await registry.get("/subjects/small/versions/1")).status == 200
        compared = await registry.post("/compatibility/subjects/small/versions", {"schema": '"string"'})
        assert compared.json == {"is_compatible": False}
        judges.close()

    asyncio.run(story())
