"""The output of commands: facts in aligned columns, or one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click

as_json: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
confirmed: Final = click.option(
    "--yes", "is_confirmed", is_flag=True, help="Do it. Without this option the command only prints what it would do."
)


STANDARD_OUTPUT: Final = "-"
"""The name of a file that means standard output."""


def is_printed(file: object) -> bool:
    """Return whether the output of a command goes to standard output: without a file, and with ``-`` for its name."""
    return file is None or str(file) == STANDARD_OUTPUT


def require_file(_context: click.Context, _parameter: click.Parameter, file: str | None) -> str | None:
    """Return the name of a file; raise ``BadParameter`` for ``-``: the command writes the file anew, or not at all."""
    if file == STANDARD_OUTPUT:
        raise click.BadParameter("expected the name of a file; this command does not write to standard output")
    return file


def print_json(document: object) -> None:
    """Print one JSON document, indented."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def print_rows(rows: Iterable[Sequence[object]]) -> None:
    """Print one line for each row, as :func:`aligned` makes it."""
    for line in aligned(rows):
        click.echo(line)


def aligned(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield one line for each row, in columns as wide as their widest cell; None is an empty cell."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as text, three or more consecutive ones as a range.

    >>> ranges([1, 2, 3, 5, 6, 9])
    '1-3, 5, 6, 9'
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    texts: list[str] = []
    for run in found:
        texts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)  # noqa: PLR2004 (two are shorter apart)
    return ", ".join(texts)


def place_of(subject: str | None) -> str:
    """Return the words for a subject, a context (``:.name:``), or the whole registry (None)."""
    if subject is None:
        return "the registry"
    return f"context {subject.strip(':')}" if subject.endswith(":") else f"subject {subject!r}"
