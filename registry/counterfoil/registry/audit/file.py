"""The audit file of one process: its lines, each with the hash of the line before, and the thread that writes them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import secrets
import socket
import threading
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from counterfoil.registry.audit.events import AuditEvent, EventKind, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from counterfoil.schema.rest.object_forms import Document


# The lines of an audit file: canonical JSON, each with the hash of the line before in its chain.
#
# Source: RFC 8785 (canonical JSON). A line has texts, integers, null and objects with names in ASCII alone, for which
# sorted names and no blanks are the canonical form.

HASH: Final = "hash"
SIGNATURE: Final = "signature"

_NO_HASH: Final = "0" * 64
_MEMBER: Final = b'"hash":"%b",' % _NO_HASH.encode()
"""The member of a line before its hash is known; others follow it, since names are sorted."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class LineHead(NamedTuple):
    """The last line of a chain: its number, and its hash."""

    chain: str
    line: int
    head: str


def canonical(facts: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON of ``facts``."""
    try:
        return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half of a surrogate pair, which Python's own library writes as a question mark
        return _ENCODER.encode(facts).encode("utf-8", "replace")


def hash_of(facts: Mapping[str, Any]) -> str:
    """Return the hash of a line, of which ``facts`` are all members but the hash itself."""
    return hashlib.sha256(canonical(facts)).hexdigest()


def unsigned(facts: Document) -> Document:
    """Return ``facts`` as they are."""
    return facts


def signed_part(facts: Mapping[str, Any]) -> bytes:
    """Return what the signature in ``facts`` is over."""
    return canonical({name: value for name, value in facts.items() if name not in {HASH, SIGNATURE}})


class Chain:
    """The chain of one process: it makes a line of each event; ``signed`` signs those that are heads."""

    def __init__(self, node: str, signed: Callable[[Document], Document] = unsigned) -> None:
        self._node = node
        self._signed = signed
        self._seq = 0
        self._prev: str | None = None

    def lines(self, events: list[AuditEvent]) -> tuple[bytes, Chain]:
        """Return the lines of ``events``, and the chain after them; this one stays, should they not be written."""
        after = Chain(self._node, self._signed)
        after._seq, after._prev = self._seq, self._prev
        return b"".join([after._line(event) for event in events]), after

    @property
    def head(self) -> LineHead | None:
        """The last line; None if there is none."""
        return None if self._prev is None else LineHead(self._node, self._seq, self._prev)

    def _line(self, event: AuditEvent) -> bytes:
        self._seq += 1
        facts = {
            **event.facts,
            "seq": self._seq,
            "time": time_text(event.at),
            "node": self._node,
            "event": event.kind.text,
            "prev": self._prev,
        }
        if event.kind is EventKind.AUDIT_HEAD:
            facts = self._signed(facts)
        facts[HASH] = _NO_HASH
        before, member, after = canonical(facts).partition(_MEMBER)  # no text has it, since quotation marks are escaped
        self._prev = hashlib.sha256(before + after).hexdigest()
        return b"%b%b%b\n" % (before, member.replace(_NO_HASH.encode(), self._prev.encode()), after)


# The audit file of one process: a thread writes the recorded events, and has them on the disk each second.

STANDARD_OUTPUT: Final = "-"

_LOGGER: Final = logging.getLogger("counterfoil.registry.audit")
_MODE: Final = 0o600
_SYNC_EVERY_S: Final = 1.0
_GATHER_S: Final = 0.1
_MAX_WAITING: Final = 100_000
_TAIL_BYTES: Final = 64 * 1024
_STDOUT: Final = 1


class AuditFile:
    """The audit file at ``path``, or standard output for ``-``.

    The file is renamed when it has ``max_bytes``, and opened again when another program has renamed it. With
    ``refuses``, writes are to be refused while events cannot be written; otherwise the events are lost and counted.
    ``signed`` signs the facts of heads. Raises ``OSError`` if the file cannot be opened at all.
    """

    def __init__(
        self,
        path: str,
        *,
        max_bytes: int,
        refuses: bool,
        signed: Callable[[Document], Document] = unsigned,
    ) -> None:
        self._path = None if path == STANDARD_OUTPUT else Path(path)
        self._max_bytes = max_bytes
        self._refuses = refuses
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._waiting: list[AuditEvent] = []
        self._lost = 0
        self.failures = 0
        """How often writing has failed."""
        self._is_failing = self._is_unsyncable = self._is_unsynced = False
        self._ended = threading.Event()
        self._synced_at = 0.0
        self._chain = Chain(f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}", signed)
        self.head: LineHead | None = None
        """The last line that is on the disk."""
        self._file = _STDOUT if self._path is None else _opened(self._path)
        last = None if self._path is None else _last_hash(self._path)
        self.record(AuditEvent(EventKind.SERVER_STARTED, {"last": last}))
        self._thread = threading.Thread(target=self._run, name="counterfoil-audit", daemon=True)
        self._thread.start()

    @property
    def refuses_writes(self) -> bool:
        """Whether events cannot be written, and writes are to be refused until they can."""
        return (self._is_failing or self._is_unsyncable) and self._refuses

    def record(self, event: AuditEvent) -> None:
        """Have ``event`` written; of events beyond a hundred thousand that wait, only the number is."""
        with self._lock:
            if len(self._waiting) < _MAX_WAITING:
                self._waiting.append(event)
            else:
                self._lost += 1
        if not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._ended.set()
        self._wake.set()
        self._thread.join()
        if self._path is not None:
            os.close(self._file)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wake.wait(_SYNC_EVERY_S if self._is_unsynced or self._is_failing else None)
            self._ended.wait(_GATHER_S)  # the events of a moment are one write
            self._wake.clear()
            self._write()
            if time.monotonic() - self._synced_at >= _SYNC_EVERY_S:
                self._sync()
        self._write()
        self._sync()

    def _write(self) -> None:
        """Write the waiting events; if that fails, they are lost, and a later line says how many."""
        with self._lock:
            events, self._waiting = self._waiting, []
            lost, self._lost = self._lost, 0
        if lost:
            events.insert(len(_starts(events)), AuditEvent(EventKind.AUDIT_GAP, {"lost": lost}))
        if not events:
            return
        lines, after = self._chain.lines(events)
        try:
            self._append(lines)
        except OSError as error:
            self._fail(error, lost=lost, events=events)
            return
        self._chain, self._is_unsynced = after, True
        if self._is_failing:
            _LOGGER.warning("the audit file can be written again")
        self._is_failing = False

    def _fail(self, error: OSError, *, lost: int = 0, events: Sequence[AuditEvent] = ()) -> None:
        """Count ``events`` as lost, with ``lost`` before them; the start of the chain is kept, to be written later."""
        if not self._is_failing:
            _LOGGER.error("the audit file cannot be written: %s", error.strerror)
        self._is_failing = self._is_failing or bool(events or lost)
        starts = _starts(events)
        with self._lock:
            self._waiting[:0] = starts
            self._lost += lost + sum(event.kind is not EventKind.AUDIT_GAP for event in events) - len(starts)
        self.failures += 1

    def _append(self, lines: bytes) -> None:
        if self._path is None:
            _write_all(self._file, lines)
            return
        with self._locked(self._path) as begun:
            try:
                _write_all(self._file, lines)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._file, begun)  # a part of the lines would be repeated later
                raise
            if begun + len(lines) >= self._max_bytes:
                self._rename(self._path)

    def _rename(self, path: Path) -> None:
        """Rename the full file and begin another; if that fails, the lines are written all the same, and it grows."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        try:
            path.rename(f"{path}.{stamp}")
            os.fsync(self._file)
            self._reopen(path)
        except OSError as error:
            _LOGGER.error("the audit file cannot be renamed: %s", error.strerror)  # noqa: TRY400  no bug of ours
            self.failures += 1

    @contextmanager
    def _locked(self, path: Path) -> Iterator[int]:
        """Hold the lock of the file that has the path now; yields its length. Several processes append to it."""
        while True:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            if _is_at(self._file, path):
                break
            with suppress(OSError):  # what is lost with the old file cannot be written again
                os.fsync(self._file)
            self._reopen(path)
        try:
            yield os.fstat(self._file).st_size
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _reopen(self, path: Path) -> None:
        opened = _opened(path)
        os.close(self._file)
        self._file = opened

    def _sync(self) -> None:
        if not self._is_unsynced:
            return
        self._synced_at, self._is_unsynced = time.monotonic(), False
        if self._path is not None:
            try:
                os.fsync(self._file)
            except OSError as error:
                self._is_unsyncable = self._is_unsynced = True
                self._fail(error)
                return
        self._is_unsyncable = False
        self.head = self._chain.head


def _starts(events: Sequence[AuditEvent]) -> list[AuditEvent]:
    """Return the first of ``events`` if it begins the chain."""
    return [event for event in events[:1] if event.kind is EventKind.SERVER_STARTED]


def _opened(path: Path) -> int:
    """Open the file to append, create it if it is missing, and end a line that a process has left incomplete."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _MODE)
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, b"\n")
    return file


def _is_at(file: int, path: Path) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    own = os.fstat(file)
    return (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _last_hash(path: Path) -> str | None:
    """Return the hash of the last whole line in the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - _TAIL_BYTES, 0))
        lines = file.read(_TAIL_BYTES).splitlines()
    for line in reversed(lines):
        with suppress(ValueError, TypeError, KeyError):
            return str(json.loads(line)[HASH])
    return None
