"""The Java that Spark runs on: its version, its process while it runs, and the archive from which it loads classes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from counterfoil.converter.errors import JavaEnded, MissingPart
from counterfoil.converter.spark.versions import SparkLine, check_python, pyspark_version, spark_line

# The Java that Spark runs on.


def check_java() -> str:
    """Return the ``java`` that Spark will start: JAVA_HOME's if it is set, else the PATH's.

    Raises ``MissingPart`` if it is missing, or not one on which the installed PySpark runs; the message says what to
    install. Raises ``UnsupportedSpark`` if bridges do not run on that PySpark.
    """
    line = spark_line()
    check_python(line)
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    found = _java_version(java) if java else None
    if java and found is not None and _is_good(line, found):
        return java
    where = f"{java} is {f'version {found}' if found else 'no working Java'}" if java else "none is on the PATH"
    raise MissingPart(
        f"Spark {line.line} needs {_wanted(line)}, and {where}. Install one, for example "
        "apt-get install openjdk-17-jre-headless, dnf install java-17-openjdk-headless or brew install openjdk@17; "
        "JAVA_HOME names it where there are several"
    )


def _is_good(line: SparkLine, java: int) -> bool:
    return line.javas[0] <= java and (line.fails_on_java is None or java < line.fails_on_java)


def _wanted(line: SparkLine) -> str:
    oldest = f"Java {line.javas[0]} or newer"
    return oldest if line.fails_on_java is None else f"{oldest}, but older than {line.fails_on_java}"


@lru_cache(maxsize=4)
def _java_version(java: str) -> int | None:
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)  # noqa: S603 - the user's own java
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', shown.stderr)
    return int(match[1]) if match else None


# The archive from which a Java process loads Spark's classes: Spark starts in about half the CPU time with it.
#
# ``counterfoil bridge prepare`` writes it to the cache folder, and later sessions use it. Java itself ignores an
# archive that was written by another Java or with other jars.


def archive_file() -> Path:
    """Return the path of the archive of this Java and this PySpark, which need not exist.

    It is in ``$COUNTERFOIL_CACHE``, else ``$XDG_CACHE_HOME/counterfoil``, else ``~/.cache/counterfoil``.
    """
    own, shared = os.environ.get("COUNTERFOIL_CACHE"), os.environ.get("XDG_CACHE_HOME")
    folder = Path(own) if own else Path(shared or Path.home() / ".cache") / "counterfoil"
    java = hashlib.sha256(os.path.realpath(check_java()).encode()).hexdigest()[:8]
    return folder / f"spark-{pyspark_version()}-java-{java}.jsa"


def archive_options(archive: Path) -> str:
    """Return the options of Java with which classes are loaded from an archive; none if it does not exist."""
    return f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off" if archive.exists() else ""


# The Java process of Spark while it runs: whether it is still there, and the error when it is not.

_WAIT_S: Final = 5.0
"""How long an end of Java takes that has closed its connections."""


def _process() -> subprocess.Popen[bytes] | None:
    """Return the process of Java; None if this program has not started it, as under spark-submit."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark shows its Java only there
    found: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    return found


def has_java() -> bool:
    """Return whether Java still runs; under spark-submit, whether it still listens."""
    process = _process()
    return _is_listening() if process is None else process.poll() is None


def _is_listening() -> bool:
    """Return whether the Java that spark-submit has started takes connections; true where there is none yet."""
    port = os.environ.get("PYSPARK_GATEWAY_PORT")
    if port is None:
        return True
    try:
        socket.create_connection(("127.0.0.1", int(port)), _WAIT_S).close()
    except OSError:
        return False
    return True


def how_java_ended(wait_s: float = _WAIT_S) -> str | None:
    """Return how Java has ended, as a clause; None if it still runs after ``wait_s``."""
    process = _process()
    if process is None:
        return None if _is_listening() else "has ended"
    try:
        code = process.wait(wait_s)
    except subprocess.TimeoutExpired:
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


_FORWARDING: Final = """\
package counterfoil;

public final class Forwarding implements sun.misc.SignalHandler {
  public void handle(sun.misc.Signal signal) {
    try {
      Runtime.getRuntime().exec(new String[] {"kill", "-TERM", "PROGRAM"});
    } catch (java.io.IOException refusal) {
      System.exit(143);
    }
  }
}
"""


def ignore_termination(jvm: Any) -> None:
    """Have Java ignore SIGTERM, as it ignores SIGINT: this program ends it, after the current batch.

    A service manager sends the signal to every process of a service, and Java would end in the middle of a batch.
    """
    signals = jvm.sun.misc
    signals.Signal.handle(signals.Signal("TERM"), signals.SignalHandler.SIG_IGN)


def forward_termination(jvm: Any) -> None:
    """Have the Java of spark-submit pass SIGTERM on to this program, which it has started, and wait for its end."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_FORWARDING.replace("PROGRAM", str(os.getpid())))
    handler = compiler.getClassLoader().loadClass("counterfoil.Forwarding").newInstance()
    jvm.sun.misc.Signal.handle(jvm.sun.misc.Signal("TERM"), handler)
