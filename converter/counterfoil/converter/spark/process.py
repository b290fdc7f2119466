"""The Java process of Spark while it runs: whether it is still there, and the error when it is not."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.errors import JavaEnded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import Popen

_WAIT_S: Final = 5.0
"""How long an end of Java takes that has closed its connections."""


def _process() -> Popen[bytes] | None:
    """Return the process of Java; None if this program has not started it, as under spark-submit."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark shows its Java only there
    found: Popen[bytes] | None = getattr(gateway, "proc", None)
    return found


def has_java() -> bool:
    """Return whether the Java that this program has started still runs; true under spark-submit, which started it."""
    process = _process()
    return process is None or process.poll() is None


def how_java_ended(wait_s: float = _WAIT_S) -> str | None:
    """Return how Java has ended, as a clause; None if it still runs after ``wait_s``."""
    process = _process()
    if process is None:
        return None
    try:
        code = process.wait(wait_s)
    except Exception:  # noqa: BLE001 - it has not ended
        return None
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


@contextmanager
def java_watched(log_file: Path) -> Iterator[None]:
    """Raise ``JavaEnded`` instead of the error that a lost connection to Java causes in the block."""
    try:
        yield
    except Exception as failure:
        ending = how_java_ended() if _is_lost(failure) else None
        if ending is None:
            raise
        raise JavaEnded(
            f"The Java process of Spark {ending} (signals come from a person, a service manager or a system without "
            f"memory); details: {log_file}"
        ) from None


def _is_lost(failure: BaseException) -> bool:
    """Return whether an error is one of the connection to Java."""
    if isinstance(failure, (ConnectionError, EOFError)):
        return True
    return (
        type(failure).__module__.startswith("py4j")
        or (failure.__cause__ is not None and _is_lost(failure.__cause__))
        or not has_java()
    )
