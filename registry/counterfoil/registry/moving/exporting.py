"""Writing a backup that is one consistent state of its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.moving.backup import BackupWriter, replacing
from counterfoil.registry.moving.errors import SourceChanged, UnreadableContent
from counterfoil.registry.moving.facts import Unreadable
from counterfoil.registry.moving.source import facts_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from counterfoil.registry.moving.progress import Progress
    from counterfoil.registry.moving.source import Source

ATTEMPTS: Final = 5
"""How many times a source is read at most, if it is written to meanwhile."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of writing a backup: how many facts of each kind, and what could not be read, a sentence each."""

    counts: Counter[str]
    problems: Sequence[str]


class _Moved(Exception):
    """The source was written to while it was read."""


async def export(source: Source, path: Path, progress: Progress, *, skip_unreadable: bool = False) -> Counter[str]:
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
    source: Source, path: Path, progress: Progress, *, accept: Callable[[Sequence[str]], None] | None = None
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


async def _attempt(source: Source, writer: BackupWriter, progress: Progress) -> Taken:
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
