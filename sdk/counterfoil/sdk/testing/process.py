"""A registry in a process of its own, for tests of programs that take an address."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTENING: Final = "counterfoil registry listening on "
_END_S: Final = 10.0


@contextmanager
def serving_registry() -> Iterator[str]:
    """Yield the URL of an empty registry in a process of its own, which listens on a free port of this machine.

    Its store is in memory. Raises ``MissingExtra`` where the extra ``registry`` is not installed, and ``RuntimeError``,
    with what the process printed, if it does not start.
    """
    if find_spec("uvicorn") is None:
        raise MissingExtra("A registry", module="uvicorn", extra="registry")
    command = [
        sys.executable,
        "-m",
        "counterfoil.registry",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--store",
        "sqlite://",
    ]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)  # noqa: S603 (our own module)
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.startswith(_LISTENING):
                process.kill()
                log.seek(0)
                raise RuntimeError(f"The registry did not start: {line}{log.read()}")
            yield line.removeprefix(_LISTENING).strip()
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
