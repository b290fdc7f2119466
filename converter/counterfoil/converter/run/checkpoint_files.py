"""The files of a checkpoint: in a folder of this machine, or in a file system that Hadoop knows, such as ``s3a``.

A folder is locked by the operating system. A file system of Hadoop has no locks: the driver that uses a checkpoint
there writes a file, ``counterfoil.lock``, with a number that it increases every few seconds. Another driver that finds
such a file watches it for a while: if the number changes, the checkpoint is in use; if it does not, the driver has
ended, and the file is replaced. No clock is read, so clocks may differ. A driver that finds another one's file, or
could not write its own for as long as others watch it, stops.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

from counterfoil.converter.errors import CheckpointBusy, CheckpointUnreadable, NotWritable, why_unreadable, writing_to
from counterfoil.converter.spark.versions import spark_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from counterfoil.converter.engines.java.generator import JavaSource

LOCK: Final = "counterfoil.lock"
_NEW: Final = ".new"


class CheckpointFiles(Protocol):
    """The files of one checkpoint, by names such as ``offsets/7``."""

    location: str
    """The address of the checkpoint for Spark."""

    def shown(self, name: str) -> str:
        """Return the path of a file, for messages."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if there is none. Raises ``CheckpointUnreadable``."""

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, none if there is no such folder."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file as a whole, instead of an earlier one. Raises ``NotWritable``."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Have the checkpoint for this driver alone. Raises ``CheckpointBusy``."""

    def has_driver(self) -> bool | None:
        """Return whether a driver uses the checkpoint; None where one request does not show it."""

    @property
    def is_lost(self) -> bool:
        """Whether another driver may use the checkpoint, although it is locked."""


class LocalFiles:
    """The files in a folder that is local or mounted."""

    is_lost = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.location = folder.as_uri()

    def shown(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.folder / name)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if there is none."""
        try:
            return (self.folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as refusal:
            raise CheckpointUnreadable(f"{self.shown(name)} cannot be read: {why_unreadable(refusal)}") from None

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        found = self.folder / folder
        return [entry.name for entry in found.iterdir()] if found.is_dir() else []

    def write(self, name: str, content: bytes) -> None:
        """Write a file beside the earlier one, and rename it."""
        with writing_to(self.folder / name):
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished = self.folder / f"{name}{_NEW}"
            unfinished.write_bytes(content)
            unfinished.replace(self.folder / name)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other drivers of this machine, or of the mount."""
        path = self.folder / LOCK
        with writing_to(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            file = path.open("ab+", buffering=0)  # nothing is left to be written when it is closed
        with file:
            self._lock(file)
            with writing_to(path):
                file.truncate(0)
                file.write(f"{os.getpid()}\n".encode())
            yield

    def _lock(self, file: IO[bytes]) -> None:
        try:
            import fcntl
        except ModuleNotFoundError:  # some systems do not have it; there the file is not locked
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise _busy(file.read().decode(errors="replace"), str(self.folder)) from None

    def refuse_busy(self) -> None:
        """Raise ``CheckpointBusy`` if another driver has locked the folder; nothing is locked or written."""
        if self.has_driver():
            raise _busy((self.folder / LOCK).read_text(encoding="utf-8", errors="replace"), str(self.folder))

    def has_driver(self) -> bool | None:
        """Return whether a driver has locked the folder; None on systems without file locks."""
        path = self.folder / LOCK
        if not path.exists():
            return False
        try:
            import fcntl
        except ModuleNotFoundError:
            return None
        with path.open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
        return False


def _busy(process: str, place: str) -> CheckpointBusy:
    return CheckpointBusy(f"Process {process.strip() or 'unknown'} is running on the checkpoint {place}")


# A file system of Hadoop, which only Java knows.

_CLOSE_PUBLISHES: Final = ("s3a", "s3", "s3n", "gs")
"""File systems on which a file appears as a whole when it is closed, and a renaming is a copy."""

_PROBE: Final = "counterfoil.probe"
_SETTLE_S: Final = 2.0
"""How long a driver waits for the file of another one that began in the same moment; longer than a store's request."""


class HadoopFiles:
    """The files at ``location``, such as ``s3a://bucket/bridges/rides``, through Hadoop's ``FileSystem``.

    ``beat_s`` is how often the driver's file is written, ``patience_s`` for how long that of another driver is watched,
    and ``wait`` waits for a number of seconds, or until the driver ends, which it returns.
    """

    def __init__(
        self,
        session: Any,
        location: str,
        *,
        beat_s: float = 5.0,
        patience_s: float = 30.0,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self.location = location.rstrip("/")
        self._jvm = session._jvm  # noqa: SLF001 - the way to Java that PySpark itself takes
        self._settings = session._jsc.hadoopConfiguration()  # noqa: SLF001 - as above, the way to Java
        self._beat_s = beat_s
        self._patience_s = patience_s
        self._wait = wait
        self._is_lost = threading.Event()
        with self._refused(self.location):
            self._files = self._path("").getFileSystem(self._settings)

    @property
    def is_lost(self) -> bool:
        """Whether another driver uses the checkpoint, or could have begun to."""
        return self._is_lost.is_set()

    def shown(self, name: str) -> str:
        """Return the URI of a file."""
        return f"{self.location}/{name}" if name else self.location

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.shown(name))

    @contextmanager
    def _refused(self, shown: str) -> Iterator[None]:
        """Raise ``CheckpointUnreadable`` instead of an exception of Hadoop."""
        try:
            yield
        except _hadoop_errors() as failure:
            raise CheckpointUnreadable(f"{shown} cannot be reached: {_java_reason(failure)}") from None

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; of one that was being written when its driver ended, the content before."""
        whole = self._read(name)
        if whole is not None and _is_json(whole):
            return whole
        kept = self._read(f"{name}{_NEW}") if name.endswith(".json") else None
        return kept if kept is not None and _is_json(kept) else whole

    def _read(self, name: str) -> bytes | None:
        try:
            stream = self._files.open(self._path(name))
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()
        except _hadoop_errors() as failure:
            if _is_missing(failure):
                return None
            raise CheckpointUnreadable(f"{self.shown(name)} cannot be read: {_java_reason(failure)}") from None

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        try:
            return [str(each.getPath().getName()) for each in self._files.listStatus(self._path(folder))]
        except _hadoop_errors() as failure:
            if _is_missing(failure):
                return []
            raise CheckpointUnreadable(f"{self.shown(folder)} cannot be read: {_java_reason(failure)}") from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file twice, without a renaming: one of the two is whole whenever this driver is killed."""
        for each in (f"{name}{_NEW}", name):
            self._put(each, content)

    def _put(self, name: str, content: bytes) -> None:
        try:
            stream = self._files.create(self._path(name), True)  # noqa: FBT003 - Java's argument: overwrite
            try:
                stream.write(content)
            finally:
                stream.close()
        except _hadoop_errors() as failure:
            raise NotWritable(self.shown(name), _java_reason(failure)) from None

    def publishes_by_closing(self) -> bool:
        """Return whether Spark should write files without renaming them: it is a copy there, or is refused."""
        if self.location.partition(":")[0] in _CLOSE_PUBLISHES:
            return True
        name = f"{_PROBE}-{uuid.uuid4().hex}"
        self._put(name, b"")
        renamed = self._path(f"{name}-renamed")
        try:
            is_renamed = bool(self._files.rename(self._path(name), renamed))
        except _hadoop_errors():
            is_renamed = False
        for each in (self._path(name), renamed):
            with suppress(*_hadoop_errors()):
                self._files.delete(each, False)  # noqa: FBT003 - Java's argument: recursive
        return not is_renamed

    def has_driver(self) -> bool | None:
        """Return False if no driver has left its file; None if one did, which may have been killed."""
        return None if self._driver() else False

    def _driver(self) -> dict[str, Any]:
        """Return what the file of a driver says, nothing if there is none; one that is not whole is somebody's."""
        content = self._read(LOCK)
        if content is None:
            return {}
        try:
            found = json.loads(content)
        except ValueError:
            found = None
        return found if isinstance(found, dict) and found else {"driver": "unknown"}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Write the file of this driver, again and again during the block, and remove it afterwards."""
        mine, ended = uuid.uuid4().hex, threading.Event()
        self._watch_other(ended)
        self._beat(mine, 0)
        self._wait(ended, min(_SETTLE_S, self._beat_s))
        if (found := self._driver()).get("driver") != mine:  # both began in the same moment
            raise self._busy(found)
        thread = threading.Thread(target=self._beating, args=(mine, ended), name="checkpoint", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._leave(mine)

    def _watch_other(self, ended: threading.Event) -> None:
        """Wait until the file of another driver has not changed for a while. Raises ``CheckpointBusy`` if it does."""
        first = self._driver()
        waited_s = 0.0
        while first and waited_s < self._patience_s:
            self._wait(ended, self._beat_s)
            waited_s += self._beat_s
            now = self._driver()
            if not now:
                return
            if now != first:
                raise self._busy(now)

    def _busy(self, found: dict[str, Any]) -> CheckpointBusy:
        return _busy(f"{found.get('process', 'unknown')} on {found.get('host', 'an unknown machine')}", self.location)

    def _beat(self, mine: str, number: int) -> None:
        facts = {"driver": mine, "beat": number, "process": os.getpid(), "host": socket.gethostname()}
        self._put(LOCK, json.dumps(facts).encode())

    def _beating(self, mine: str, ended: threading.Event) -> None:
        number, written_s = 0, time.monotonic()
        while not self._wait(ended, self._beat_s):
            number += 1
            try:
                found = self._driver()
                if found and found.get("driver") != mine:
                    self._is_lost.set()
                    return
                self._beat(mine, number)
                written_s = time.monotonic()
            except Exception:  # noqa: BLE001 - whatever it is: another driver sees no change meanwhile
                if time.monotonic() - written_s > self._patience_s - 2 * self._beat_s:
                    self._is_lost.set()
                    return

    def _leave(self, mine: str) -> None:
        """Remove this driver's file, so that the next one needs not watch it; nothing if that fails."""
        with suppress(Exception):
            if self._driver().get("driver") == mine:
                self._files.delete(self._path(LOCK), False)  # noqa: FBT003 - Java's argument: recursive


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def _hadoop_errors() -> tuple[type[Exception], ...]:
    """Return the classes of exceptions of Java, of which PySpark replaces some by its own."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return Py4JJavaError, PySparkException


def _causes(failure: Any) -> Iterator[Any]:
    each = getattr(failure, "java_exception", None)
    while each is not None:
        yield each
        each = each.getCause()


def _is_missing(failure: Any) -> bool:
    return any(each.getClass().getName() == "java.io.FileNotFoundException" for each in _causes(failure))


def _java_reason(failure: Any) -> str:
    """Return the innermost cause of an exception of Java, in one line and without what looks like a secret."""
    causes = list(_causes(failure))
    text = str(causes[-1].getMessage() or causes[-1].getClass().getSimpleName()) if causes else str(failure)
    return " ".join(re.sub(r"(?i)((?:secret|token|key)\S*[=:]\s*)\S+", r"\1…", text).split())[:300]


# How Spark writes the files of a checkpoint, which the bridge decides for each query.

_MANAGER: Final = "spark.sql.streaming.checkpointFileManagerClass"


@contextmanager
def written_as_needed(session: SparkSession, place: CheckpointFiles) -> Iterator[None]:
    """Have the checkpoints of queries that start in the block written as the place of their files needs it.

    In a local folder, the way of Spark that looks for symbolic links at each renaming is avoided: Hadoop starts some
    twenty processes in each batch for it, where its own library for the operating system is missing, as in PySpark.
    Elsewhere a class that the user has set is kept.
    """
    before = session.conf.get(_MANAGER, None)
    manager = _manager(session, place, before)
    if manager is not None:
        session.conf.set(_MANAGER, manager)
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(_MANAGER)
        else:
            session.conf.set(_MANAGER, before)


def _manager(session: SparkSession, place: CheckpointFiles, chosen: str | None) -> str | None:
    """Return the class that writes checkpoints; None: the one that Spark takes by itself."""
    if isinstance(place, HadoopFiles):
        if chosen is not None or not place.publishes_by_closing():
            return None
        from counterfoil.converter.engines.java.generator import add_classes

        source = whole_files_source(spark_line().checkpoint_package)
        add_classes(session, source)
        return f"{source.package}.{source.first}"
    java: Any = session._jvm  # noqa: SLF001 - only Java knows whether it has a class, which a vendor may have moved
    classes = java.java.lang.Thread.currentThread().getContextClassLoader()
    name = f"{spark_line().checkpoint_package}.FileSystemBasedCheckpointFileManager"
    return name if classes.getResource(f"{name.replace('.', '/')}.class") is not None else None


@cache
def whole_files_source(package: str) -> JavaSource:
    """Return the class that writes checkpoints without renaming, for the ``package`` of Spark's own such classes."""
    from counterfoil.converter.engines.java.generator import packaged

    written = (files("counterfoil.converter.run") / "WholeFiles.java").read_text(encoding="utf-8")
    return packaged("checkpoints", f"import {package}.*;\n{written}", "WholeFiles")
