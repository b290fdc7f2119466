"""A backup: one file of JSON Lines with a checksum, written as one consistent state of its source."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
import time
import zlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from counterfoil.registry.moving.facts import (
    DamagedFile,
    MovingError,
    SourceChanged,
    Unreadable,
    UnreadableContent,
    fact_document,
    read_fact,
)
from counterfoil.registry.moving.sources import facts_of
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from counterfoil.registry.moving.facts import Fact, Found
    from counterfoil.registry.moving.importing import MoveProgress
    from counterfoil.registry.moving.sources import FactSource
    from counterfoil.schema.rest.object_forms import Document


# A backup: one file of JSON Lines with a checksum, plain or compressed (``.gz``).
#
# The first line has the format and the origin, the last one the number of facts of each kind and the SHA-256 of all
# bytes before it (uncompressed). Writing and reading take no more memory for a larger file.

FORMAT: Final = "counterfoil-backup"
FORMAT_VERSION: Final = 1
_ZIPPED: Final = ".gz"
_MAX_LINE_BYTES: Final = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class BackupHeader:
    """The header of a backup: the origin of its facts, and when they were read (epoch ms)."""

    origin: str
    created_ms: int


class BackupWriter:
    """Writes facts to ``file``, which is opened in binary mode."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, *, origin: str) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.counts: Counter[str] = Counter()
        created = time.time_ns() // 1_000_000
        self._write({"format": FORMAT, "version": FORMAT_VERSION, "origin": origin, "created": created})

    def _write(self, document: Document) -> None:
        line = json.dumps(document, separators=(",", ":")).encode() + b"\n"
        self._hash.update(line)
        self._file.write(line)

    def add(self, fact: Fact) -> None:
        """Write one fact."""
        document = fact_document(fact)
        self.counts[document["fact"]] += 1
        self._write(document)

    def finish(self) -> None:
        """Write the last line."""
        self._write({"end": dict(sorted(self.counts.items())), "sha256": self._hash.hexdigest()})


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Yield a file that replaces ``path`` when it is completely written, and is deleted otherwise."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise MovingError(
            f"{path} cannot be written: {error.strerror or error}; name a file in a folder in which this user may write"
        ) from None
    try:
        with os.fdopen(descriptor, "wb") as raw:
            if path.suffix == _ZIPPED:
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as zipped:
                    yield zipped
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class BackupReader:
    """Reads the backup ``path``."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def origin(self) -> str:
        """The origin of the facts: the file's path."""
        return str(self._path)

    def verify(self) -> tuple[BackupHeader, Counter[str]]:
        """Return the header and the number of facts of each kind, after reading the whole file and parsing each fact.

        ``DamagedFile`` names the first line that was altered.
        """
        return self._read_all()

    async def facts(self) -> AsyncIterator[Fact]:
        """Yield the facts in order."""
        for _, line in self._lines():
            document = json.loads(line)
            if "fact" in document:
                yield read_fact(document)

    def _damage(self, line: int, problem: str) -> DamagedFile:
        return DamagedFile(str(self._path), line, problem)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        try:
            with gzip.open(self._path) if self._path.suffix == _ZIPPED else self._path.open("rb") as file:
                while line := file.readline(_MAX_LINE_BYTES):
                    number += 1
                    yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._damage(number + 1, f"the compressed data is damaged or cut off ({error})") from None
        except OSError as error:
            raise MovingError(f"{self._path} cannot be read: {error.strerror or error}") from None

    def _document(self, number: int, line: bytes) -> Document:
        if not line.endswith(b"\n"):
            raise self._damage(number, "the line is cut off")
        try:
            document = json.loads(line)
        except UnicodeDecodeError:
            raise self._damage(number, "this is not UTF-8 text") from None
        except ValueError as error:
            raise self._damage(number, f"this is not JSON ({error})") from None
        except RecursionError:
            raise self._damage(number, "this is nested too deeply to be JSON of a backup") from None
        if not isinstance(document, dict):
            raise self._damage(number, "this is not a JSON object")
        return document

    def _header(self, document: Document) -> BackupHeader:
        if document.get("format") != FORMAT:
            raise self._damage(1, f"this is no backup: its format is {document.get('format')!r}, expected {FORMAT!r}")
        if document.get("version") != FORMAT_VERSION:
            raise self._damage(
                1, f"the backup has format version {document.get('version')!r}, and this program reads {FORMAT_VERSION}"
            )
        created = document.get("created")
        return BackupHeader(str(document.get("origin", "")), created if isinstance(created, int) else 0)

    def _read_all(self) -> tuple[BackupHeader, Counter[str]]:
        header, end, number = None, None, 0
        counts: Counter[str] = Counter()
        digest = hashlib.sha256()
        for number, line in self._lines():
            if end is not None:
                raise self._damage(number, "there is something after the last line")
            document = self._document(number, line)
            if header is None:
                header = self._header(document)
            elif "end" in document:
                end = document
                self._check_end(number, end, digest.hexdigest(), counts)
            else:
                counts[self._kind(number, document)] += 1
            digest.update(line)
        if header is None:
            raise self._damage(1, "the file is empty")
        if end is None:
            raise self._damage(number + 1, "the last line, with the checksum, is missing: the file is cut off")
        return header, counts

    def _kind(self, number: int, document: Document) -> str:
        try:
            read_fact(document)
        except RegistryError as error:
            raise self._damage(number, str(error)) from None
        return str(document["fact"])

    def _check_end(self, number: int, end: Document, digest: str, counts: Counter[str]) -> None:
        if end.get("sha256") != digest:
            raise self._damage(number, f"the checksum of the lines before is {digest}, not {end.get('sha256')!r}")
        if end["end"] != dict(counts):
            raise self._damage(number, f"it counts {end['end']}, and there are {dict(counts)}")


# Writing a backup that is one consistent state of its source.

ATTEMPTS: Final = 5
"""How many times a source is read at most, if it is written to meanwhile."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of writing a backup: how many facts of each kind, and what could not be read, a sentence each."""

    counts: Counter[str]
    problems: Sequence[str]


class _Moved(Exception):
    """The source was written to while it was read."""


async def export(
    source: FactSource, path: Path, progress: MoveProgress, *, skip_unreadable: bool = False
) -> Counter[str]:
    """Write all of ``source``, as of one moment, to ``path``; return the number of facts of each kind.

    If the source is written to meanwhile, everything is read again; after five times ``SourceChanged`` is raised.
    Raises ``UnreadableContent`` unless ``skip_unreadable``. ``path`` is replaced at the end, and stays unchanged if
    anything fails.
    """

    def accept(problems: Sequence[str]) -> None:
        if problems and not skip_unreadable:
            raise UnreadableContent(problems)
        for problem in problems:
            progress.say(f"left out: {problem}")

    return (await take(source, path, progress, accept=accept)).counts


async def take(
    source: FactSource, path: Path, progress: MoveProgress, *, accept: Callable[[Sequence[str]], None] | None = None
) -> Taken:
    """Write all of ``source`` to ``path``, as :func:`export` does; return what was written and what could not be read.

    ``accept`` is called with what cannot be read, and raises if the file is not to be written.
    """
    for _ in range(ATTEMPTS):
        try:
            with replacing(path) as file:
                taken = await _attempt(source, BackupWriter(file, origin=source.origin), progress)
                if accept is not None:
                    accept(taken.problems)
        except _Moved:
            progress.say(f"{source.origin} was written to meanwhile; reading it again")
        else:
            return taken
    raise SourceChanged(
        f"{source.origin} was written to during each of {ATTEMPTS} attempts to read it, and a copy is of one state; "
        "make it read-only for as long (PUT /mode READONLY), or try when less is written"
    )


async def _attempt(source: FactSource, writer: BackupWriter, progress: MoveProgress) -> Taken:
    mark = await source.mark()
    problems: list[str] = []
    async for fact in facts_of(source):
        if isinstance(fact, Unreadable):
            problems.append(fact.problem)
        else:
            writer.add(fact)
        progress.step("read")
    if await source.mark() != mark:
        raise _Moved
    writer.finish()
    return Taken(writer.counts, problems)


# Reading a source once if its facts are needed several times.


async def read_once(source: FactSource, folder: Path, progress: MoveProgress) -> Callable[[], AsyncIterator[Found]]:
    """Return a function that returns the facts of ``source``, as of one moment, from the beginning at each call.

    They are stored in a file in ``folder``, so that a running registry is read once and not for each pass.
    """
    path = folder / "facts.jsonl.gz"
    taken = await take(source, path, progress)

    async def facts() -> AsyncIterator[Found]:
        for problem in taken.problems:
            yield Unreadable(problem)
        async for fact in BackupReader(path).facts():
            yield fact

    return facts
