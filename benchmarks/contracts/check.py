"""`counterfoil check` on a repository with 500 schemas, 20 of them changed: the whole process, offline.

Beside it, in the same run: the start of Python and of our command line, `buf breaking` on 500 .proto files with the
same fields, and one compatibility request for each changed or each of all schemas to a registry. Rounds are
interleaved. Figures are medians: the time that passes, and the CPU seconds (user and system) of the process and its
children, which depend less on what else the machine does; the goals are about the latter. Python may write its compiled
modules, as it does where a package is installed. ``--assert`` exits with 1 if a goal is missed; ``ROUNDS=n`` sets the
rounds.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import httpx

from counterfoil.schema.model import Schema
from counterfoil.sdk import Registry
from counterfoil.sdk.testing.registries import serving_registry

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMAS, CHANGED = 500, 20
ROUNDS = int(os.environ.get("ROUNDS", "9"))
GOAL_CHECK_S, GOAL_START_S = 1.0, 0.150
BIN = Path(sys.executable).parent
FIELDS = ("string", "long", "int", "double", "boolean", "bytes")
PROTOBUF = ("string", "int64", "int32", "double", "bool", "bytes")


def avro(number: int, *, is_changed: bool) -> str:
    fields: list[object] = [{"name": f"field_{k}", "type": FIELDS[(number + k) % 6]} for k in range(20)]
    if is_changed:
        fields.append({"name": "added", "type": ["null", "string"], "default": None})
    record = {"type": "record", "name": f"Event{number}", "namespace": f"shop.m{number % 25}", "fields": fields}
    return json.dumps(record, indent=1)


def protobuf(number: int, *, is_changed: bool) -> str:
    count = 21 if is_changed else 20
    fields = "".join(f"  {PROTOBUF[(number + k) % 6]} field_{k} = {k + 1};\n" for k in range(count))
    return f'syntax = "proto3";\npackage shop.m{number % 25};\nmessage Event{number} {{\n{fields}}}\n'


def repository(folder: Path, suffix: str, text: Callable[..., str]) -> Path:
    """Return a repository with a commit, and changes in the working tree."""
    folder.mkdir()

    def write(numbers: range, *, is_changed: bool) -> None:
        for number in numbers:
            place = folder / "shop" / f"m{number % 25}" / f"event_{number}{suffix}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text(number, is_changed=is_changed), encoding="utf-8")

    write(range(SCHEMAS), is_changed=False)
    if suffix == ".proto":
        (folder / "buf.yaml").write_text("version: v2\nbreaking: {use: [WIRE]}\n", encoding="utf-8")
    names = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), (*names, "commit", "-qm", "schemas")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    write(range(0, SCHEMAS, SCHEMAS // CHANGED), is_changed=True)
    return folder


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of a run, and the CPU seconds of the processes that it started."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run()
    spent, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command(folder: Path, *arguments: object) -> Callable[[], object]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**inherited, "XDG_CACHE_HOME": str(folder.parent)}
    return lambda: subprocess.run(
        [str(each) for each in arguments], cwd=folder, env=environment, check=True, capture_output=True
    )


def requests(url: str, numbers: range) -> Callable[[], object]:
    """Return a run that sends one compatibility request for each schema, on one kept connection."""

    def run() -> None:
        with httpx.Client(base_url=url) as client:
            for number in numbers:
                body = {"schema": avro(number, is_changed=number % (SCHEMAS // CHANGED) == 0)}
                reply = client.post(f"/compatibility/subjects/event_{number}-value/versions/latest", json=body)
                assert reply.json()["is_compatible"]

    return run


def main() -> int:
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ours, theirs = repository(top / "avro", ".avsc", avro), repository(top / "proto", ".proto", protobuf)
        url = stack.enter_context(serving_registry())
        with Registry(url) as registry:
            for number in range(SCHEMAS):
                registry.register(f"event_{number}-value", Schema(avro(number, is_changed=False)))
        runs = {
            "python -c pass": command(ours, sys.executable, "-c", "pass"),
            "counterfoil --help": command(ours, BIN / "counterfoil", "--help"),
            "counterfoil check, 500 .avsc": command(ours, BIN / "counterfoil", "check", "--offline"),
            "counterfoil check, 500 .proto": command(theirs, BIN / "counterfoil", "check", "--offline"),
            "buf breaking, 500 .proto": command(theirs, BIN / "buf", "breaking", "--against", ".git#branch=main"),
            f"{CHANGED} requests": requests(url, range(0, SCHEMAS, SCHEMAS // CHANGED)),
            f"{SCHEMAS} requests": requests(url, range(SCHEMAS)),
        }
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                figures[name].append(timed(run))
    typical = {name: (median(one for one, _ in each), median(cpu for _, cpu in each)) for name, each in figures.items()}
    for name, (seconds, cpu) in typical.items():
        print(f"{name:32} {seconds:7.3f} s  CPU {cpu:6.3f} s")
    start = typical["counterfoil --help"][1] - typical["python -c pass"][1]
    check = typical["counterfoil check, 500 .avsc"][1]
    print(f"CPU: start above Python {start:.3f} s (goal {GOAL_START_S}), check {check:.3f} s (goal {GOAL_CHECK_S})")
    return int("--assert" in sys.argv and (start > GOAL_START_S or check > GOAL_CHECK_S))


if __name__ == "__main__":
    sys.exit(main())
