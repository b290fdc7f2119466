"""The repairs of ``counterfoil lint --fix``: what is meant instead of a word, where that is certain.

A repair replaces a word in the text of a file, so that comments and layout stay as they are. Files are written only
when all repairs are known; each is replaced at once by a file that was written beside it.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.errors import PreconditionFailed
from counterfoil.contracts.lint import Fix
from counterfoil.contracts.project.languages import is_yaml
from counterfoil.schema.documents import InvalidDocument, conflict_in
from counterfoil.schema.documents.yaml_reader import read_yaml

if TYPE_CHECKING:
    from counterfoil.contracts.lint.lint import LintInput, LintReport


_MAX_ROUNDS: Final = 100
"""More than the mistakes that one file can have behind one another, of which only the first is seen."""
_LINE_END: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""The ends of lines in YAML 1.1, by which places are counted."""
_QUOTES: Final = ("", "'", '"')


def fix_files(root: str, given: LintInput, report_on: Callable[[LintInput], LintReport]) -> tuple[Fix, ...]:
    """Make the repairs of the findings that ``report_on`` reports in the files below ``root``, and return them.

    Nothing is written if one of the files has an unresolved conflict of a merge, or cannot be written.
    """
    fixing = find_fixes(given, report_on)
    _write(root, fixing, given.read)
    return fixing.fixes


@dataclass(frozen=True, slots=True)
class Fixing:
    """The repairs of all files, and the bytes of each file that they change, before and after."""

    fixes: tuple[Fix, ...]
    before: Mapping[str, bytes | None]
    after: Mapping[str, bytes]


def find_fixes(given: LintInput, report_on: Callable[[LintInput], LintReport]) -> Fixing:
    """Return the repairs of the findings that ``report_on`` reports, until none is left; nothing is written.

    Raises ``PreconditionFailed`` if one of the files has an unresolved conflict of a merge.
    """
    _refuse_conflicts(given)
    before: dict[str, bytes | None] = {}
    texts: dict[str, str] = {}
    fixes: list[Fix] = []
    tried: set[Fix] = set()

    def read(path: str) -> bytes | None:
        if path in texts:
            return _bytes_of(texts[path])
        if path not in before:
            before[path] = given.read(path)
        return before[path]

    for _ in range(_MAX_ROUNDS):
        report = report_on(replace(given, read=read))
        wanted = sorted({*_wanted(report)} - tried, key=lambda one: (one.path, one.repair.position, one.rule))
        if not wanted:
            break
        tried.update(wanted)
        for path, of_file in groupby(wanted, key=lambda one: one.path):
            found = [*of_file]
            text, made = _repaired(path, _text_of(read(path)), found)
            if made:
                texts[path] = text
                fixes += made
                tried.difference_update(found)
                tried.update(made)
    after = {path: _bytes_of(text) for path, text in texts.items()}
    ordered = sorted(fixes, key=lambda one: (one.path, one.repair.position))
    return Fixing(tuple(ordered), {path: before[path] for path in texts}, after)


def _wanted(report: LintReport) -> Iterator[Fix]:
    """Yield the repairs of the findings that are not approved."""
    for finding in report.findings:
        if finding.repair is not None and finding.approval is None:
            yield Fix(finding.rule, finding.path, finding.repair)


def _refuse_conflicts(given: LintInput) -> None:
    own = [given.project] if given.project is not None else []
    for path in (*own, *given.schemas, *given.agreements):
        conflict = conflict_in((given.read(path) or b"").decode(errors="replace"))
        if conflict is not None:
            raise PreconditionFailed(
                f"{path}:{conflict} has an unresolved conflict of a merge, so nothing was fixed; keep one side first"
            )


def _text_of(data: bytes | None) -> str:
    """Return the text of a file; bytes that are not UTF-8 stay what they are."""
    return (data or b"").decode(errors="surrogateescape")


def _bytes_of(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _repaired(path: str, text: str, fixes: Sequence[Fix]) -> tuple[str, list[Fix]]:
    """Return a text with repairs in it, and those that were made: all, or else the first that leaves it readable.

    Two keys that are meant to be the same are an example of repairs that cannot be made together.
    """
    for some in (fixes, *([each] for each in fixes)):
        changed, made = _edited(text, some)
        if made and _is_readable(path, changed):
            return changed, made
    return text, []


def _edited(text: str, fixes: Iterable[Fix]) -> tuple[str, list[Fix]]:
    """Return a text with repairs in it, and those that were made: where the text is what is to be repaired."""
    starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
    edits: dict[int, tuple[str, str, Fix]] = {}
    for fix in fixes:
        repair = fix.repair
        line = repair.position.line - 1
        at = starts[line] + repair.position.column - 1 if line < len(starts) else len(text)
        for quote in _QUOTES:
            written = f"{quote}{repair.before}{quote}"
            if text.startswith(written, at):
                edits.setdefault(at, (written, f"{quote}{repair.after}{quote}", fix))
                break
    for at in sorted(edits, reverse=True):
        before, after, _ = edits[at]
        text = f"{text[:at]}{after}{text[at + len(before) :]}"
    return text, [fix for _, _, fix in edits.values()]


def _is_readable(path: str, text: str) -> bool:
    """Return whether a repaired text is still YAML; a file of another language stays what it is."""
    if not is_yaml(path):
        return True
    try:
        read_yaml(text)
    except InvalidDocument:
        return False
    return True


def _write(root: str, fixing: Fixing, read: Callable[[str], bytes | None]) -> None:
    """Write the repaired files below ``root``, all of them or, if a new one cannot be written, none.

    Raises ``PreconditionFailed`` if a file has changed meanwhile.
    """
    written: list[tuple[str, str]] = []
    try:
        for path, data in fixing.after.items():
            place = os.path.realpath(Path(root) / path)
            written.append((_written_beside(place, data), place))
        for path, was in fixing.before.items():
            if read(path) != was:
                raise PreconditionFailed(f"{path} was changed while it was checked, so nothing was fixed; run it again")
        for beside, place in written:
            Path(beside).replace(place)
    finally:
        for beside, _ in written:
            with suppress(FileNotFoundError):
                Path(beside).unlink()


def _written_beside(place: str, data: bytes) -> str:
    """Write a file with the permissions of the one at ``place`` into its folder, and return the path."""
    folder, name = os.path.split(place)
    descriptor, beside = tempfile.mkstemp(prefix=f".{name}.", suffix=".new", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(place, beside)
    except OSError:
        Path(beside).unlink()
        raise
    return beside
