"""The modules that one request or one command enters: what somebody has to read who follows it.

``python tests/architecture/flows.py`` prints their number for each flow; with the name of a flow, the modules. Each
flow has run once before it is followed, so that what is made at the first use does not count.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]
_ROOMS: Final = ("schema", "pages", "sdk", "contracts", "registry", "converter")
_OURS: Final = tuple(str(ROOT / room / "counterfoil") for room in _ROOMS)
_TYPES: Final = ("int", "long", "float", "double")


def entered(action: Callable[[], Any]) -> set[str]:
    """Return the modules of the product whose functions run in any thread while ``action`` does."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    getattr(threading, "setprofile_all_threads", threading.setprofile)(note)  # the first since Python 3.12
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        getattr(threading, "setprofile_all_threads", threading.setprofile)(None)
    return {str(Path(file).relative_to(ROOT)) for file in files if file.startswith(_OURS)}


def record(kind: str) -> str:
    """Return an Avro record with one field of a type."""
    return json.dumps({"type": "record", "name": "Order", "fields": [{"name": "total", "type": kind}]})


def registration() -> set[str]:
    """A new version of a subject whose level is BACKWARD."""
    from strategies.registry.driver import InProcessRegistry

    registry = InProcessRegistry()
    with asyncio.Runner() as runner:
        for kind in _TYPES[:-1]:
            assert runner.run(registry.register("orders-value", record(kind))).status == 200
        return entered(lambda: runner.run(registry.register("orders-value", record(_TYPES[-1]))))


def can_i_deploy() -> set[str]:
    """A new version of a producer whose contract one consumer reads."""
    from strategies.contracts.stories import BASE, live, promise, publish, schema
    from strategies.registry.driver import InProcessRegistry

    registry = InProcessRegistry()

    async def prepared() -> None:
        await live(registry, "total")
        for version in ("2", "3"):
            await publish(registry, "shop", version, (promise(f"2.{version}.0"), schema(status=None)))

    async def asked(version: str) -> None:
        query = f"application=shop&version={version}&environment=production"
        assert (await registry.get(f"{BASE}/can-i-deploy?{query}")).status == 200

    with asyncio.Runner() as runner:
        runner.run(prepared())
        runner.run(asked("2"))
        return entered(lambda: runner.run(asked("3")))


def check() -> set[str]:
    """``counterfoil check`` of one file that has changed since the branch ``main``."""
    from counterfoil.contracts.cli.root import root_command
    from counterfoil.contracts.cli.run import run

    with tempfile.TemporaryDirectory() as folder, _inside(folder):
        file = Path(folder, "order.avsc")
        file.write_text(record("int"), encoding="utf-8")
        for command in ("init -q -b main", "add .", "-c user.name=a -c user.email=a@b.c commit -q -m first"):
            subprocess.run(["git", *command.split()], check=True)
        file.write_text(record("long"), encoding="utf-8")

        def checked() -> None:
            with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
                assert run(root_command(), ["check", "--against", "main"]) == 0

        checked()
        return entered(checked)


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


FLOWS: Final = {"registration": registration, "can-i-deploy": can_i_deploy, "check of one file": check}

if __name__ == "__main__":
    named = sys.argv[1:]
    for title, flow in FLOWS.items():
        if not named or title in named:
            modules = flow()
            print(f"modules that one {title} enters".ljust(44), len(modules))  # noqa: T201 - a report
            if named:
                print(*sorted(modules), sep="\n")  # noqa: T201 - a report
