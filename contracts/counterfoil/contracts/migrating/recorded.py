"""Recorded values of topics: files with the lines that ``counterfoil consume`` prints, one file for each topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.errors import InputNotFound, PreconditionFailed
from counterfoil.contracts.values.form import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIXES: Final = (".jsonl", ".ndjson", ".json")


class RecordedTopics:
    """The files ``TOPIC.jsonl`` in ``folder``. Raises ``InputNotFound`` if there is no such folder."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise InputNotFound(f"there is no folder {folder!r}, which --recorded names")

    def values(self, topic: str) -> tuple[Any, ...]:
        """Return the values of a topic, without tombstones; an empty tuple without a file.

        Raises ``PreconditionFailed`` for a line that is no JSON.
        """
        found = next((path for suffix in _SUFFIXES if (path := self._folder / f"{topic}{suffix}").is_file()), None)
        return () if found is None else tuple(each for each in _values(found) if each is not None)


def _values(path: Path) -> Iterator[Any]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # texts in JSON may have other line ends
    except UnicodeDecodeError as error:
        raise PreconditionFailed(f"{path} is not UTF-8 ({error.reason})") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                given = read_json(line)
            except ValueError as problem:
                raise PreconditionFailed(f"{path}:{number} is no line of JSON: {problem}") from None
            yield given["value"] if isinstance(given, dict) and "value" in given else given
