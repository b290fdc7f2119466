"""Writing a backup that is one consistent state of its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.moving.backup import BackupWriter, replacing
from counterfoil.registry.moving.errors import SourceChanged, UnreadableContent
from counterfoil.registry.moving.facts import Unreadable
from counterfoil.registry.moving.source import facts_of

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from counterfoil.registry.moving.progress import Progress
    from counterfoil.registry.moving.source import Source

ATTEMPTS: Final = 5
"""How often a source that is written to meanwhile is read, all in all."""


class _Moved(Exception):
    """The source was written to while it was read."""


async def export(source: Source, path: Path, progress: Progress, *, skip_unreadable: bool = False) -> Counter[str]:
    """How many facts of each kind ``path`` holds now: all of ``source``, as it was at one moment.

    When something is written to the source meanwhile, all is read again; ``SourceChanged`` after five times. ``path``
    is replaced at the end, and stays as it is when anything fails.
    """
    for _ in range(ATTEMPTS):
        try:
            return await _attempt(source, path, progress, skip_unreadable=skip_unreadable)
        except _Moved:
            progress.say(f"{source.origin} was written to meanwhile; reading it again")
    raise SourceChanged(
        f"{source.origin} was written to during each of {ATTEMPTS} attempts to read it, and a backup is one state; "
        "make it read-only for as long (PUT /mode READONLY), or try when less is written"
    )


async def _attempt(source: Source, path: Path, progress: Progress, *, skip_unreadable: bool) -> Counter[str]:
    mark = await source.mark()
    problems: list[str] = []
    with replacing(path) as file:
        writer = BackupWriter(file, origin=source.origin)
        async for fact in facts_of(source):
            if isinstance(fact, Unreadable):
                problems.append(fact.problem)
            else:
                writer.add(fact)
            progress.step("read")
        if await source.mark() != mark:
            raise _Moved
        for problem in problems:
            progress.say(f"left out: {problem}" if skip_unreadable else problem)
        if problems and not skip_unreadable:
            raise UnreadableContent(problems)
        writer.finish()
    return writer.counts
