"""Reading a source once if its facts are needed several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.moving.backup import BackupReader
from counterfoil.registry.moving.exporting import take
from counterfoil.registry.moving.facts import Unreadable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from counterfoil.registry.moving.facts import Found
    from counterfoil.registry.moving.progress import Progress
    from counterfoil.registry.moving.source import Source


async def read_once(source: Source, folder: Path, progress: Progress) -> Callable[[], AsyncIterator[Found]]:
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
