"""Verifying audit files, and showing events as lines of text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.registry.audit.events import EventKind
from counterfoil.registry.audit.file import HASH, canonical, hash_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from counterfoil.registry.audit.events import EventSelection
    from counterfoil.registry.audit.keys import PublicKeys
    from counterfoil.schema.rest.object_forms import Document


# Verifying audit files: each line has its hash, and follows the line before in its chain.

_BREAKS_OFF: Final = "it breaks off"


class StoredHead(NamedTuple):
    """What a store has of a chain of the file: the hash of one of its lines. ``place`` is that of the event."""

    place: str
    chain: str
    line: int
    head: str


class JournalHead(NamedTuple):
    """What a file has of the journal: its chain up to a change. ``place`` is that of the line."""

    place: str
    change: int
    head: str


class AuditLine(NamedTuple):
    """A line of a file: where it is, its members, and what is wrong if it has none."""

    place: str
    facts: Document | None
    mistake: str = ""


@dataclass(frozen=True, slots=True)
class AuditMisfit:
    """A line that is not what was written, or does not follow the one before."""

    place: str
    message: str

    def __str__(self) -> str:
        """Return the misfit as a line of output."""
        return f"{self.place}: {self.message}"


def read_lines(paths: Iterable[Path]) -> Iterator[AuditLine]:
    """Yield the lines of the files in order."""
    for path in paths:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield read_line(f"{path}:{number}", line)


def read_line(place: str, line: bytes) -> AuditLine:
    """Return the line at ``place``; the members that it has are as they were written."""
    if not line.endswith(b"\n"):
        return AuditLine(place, None, _BREAKS_OFF)
    try:
        facts = json.loads(line)
    except (ValueError, RecursionError):
        return AuditLine(place, None, "it is no JSON")
    if not isinstance(facts, dict) or canonical(facts) + b"\n" != line:
        return AuditLine(place, None, "it is not in the form in which this program writes lines")
    hashed = {name: value for name, value in facts.items() if name != HASH}
    if hash_of(hashed) != facts.get(HASH):
        return AuditLine(place, None, "its hash differs: it was edited")
    return AuditLine(place, facts)


def _chains(heads: Iterable[StoredHead]) -> dict[str, None]:
    return dict.fromkeys(each.chain for each in heads)


class Verifier:
    """Follows the chains of all processes through the lines of files.

    ``keys`` verify the signatures of heads. ``heads`` are those of the files' chains that a store has.
    ``is_continued``: earlier files are not among them, so that chains may begin in the middle.
    """

    def __init__(
        self, *, keys: PublicKeys | None = None, heads: Iterable[StoredHead] = (), is_continued: bool = False
    ) -> None:
        self._is_continued = is_continued
        self._keys = keys
        self._heads = list(heads)
        self._hash_by_line: dict[tuple[str, int], str | None] = {(each.chain, each.line): None for each in self._heads}
        self._last: dict[str, tuple[int, str]] = {}
        self._first: dict[str, int] = {}
        self._hashes: set[str | None] = {None}
        self.journal_heads: list[JournalHead] = []
        """The heads of the journal in the files."""
        self.count = 0
        """How many lines were read."""

    def misfits(self, lines: Iterable[AuditLine]) -> Iterator[AuditMisfit]:
        """Yield what does not fit. An incomplete line at the end, or before the start of a process, is a crash's."""
        torn: AuditLine | None = None
        for line in lines:
            self.count += 1
            if torn is not None:
                if line.facts is None or line.facts.get("event") != EventKind.SERVER_STARTED.text:
                    yield AuditMisfit(torn.place, torn.mistake)
                torn = None
            if line.facts is None:
                torn = line
            elif message := self._mistake(line.facts) or self._mistake_of_head(line.place, line.facts):
                yield AuditMisfit(line.place, message)
        if torn is not None and torn.mistake != _BREAKS_OFF:
            yield AuditMisfit(torn.place, torn.mistake)
        yield from self._misfits_of_heads()

    def _mistake(self, facts: Document) -> str | None:
        """Return why the line with ``facts`` does not follow what was read before."""
        node, seq, prev, own = (facts.get(name) for name in ("node", "seq", "prev", HASH))
        if not isinstance(node, str) or not isinstance(seq, int) or not isinstance(own, str):
            return "it lacks node, seq or hash"
        before = self._last.get(node)
        self._last[node] = (seq, own)
        self._hashes.add(own)
        if (node, seq) in self._hash_by_line:
            self._hash_by_line[node, seq] = own
        if before is None:
            self._first[node] = seq
            return self._mistake_of_first(facts)
        if (seq, prev) != (before[0] + 1, before[1]):
            return f"it is line {seq} of {node}; expected line {before[0] + 1}: lines were removed, exchanged or edited"
        return None

    def _mistake_of_first(self, facts: Document) -> str | None:
        if self._is_continued:
            return None
        if facts["seq"] != 1 or facts.get("prev") is not None:
            return f"{facts['node']} begins with line {facts['seq']}: lines were removed, or earlier files are missing"
        if facts.get("event") != EventKind.SERVER_STARTED.text:
            return f"{facts['node']} does not begin with {EventKind.SERVER_STARTED.text}"
        last = facts.get("last")
        if not (last is None or isinstance(last, str)) or last not in self._hashes:
            return "the line that was the last one when this process started is missing"
        return None

    def _mistake_of_head(self, place: str, facts: Document) -> str | None:
        if facts.get("event") != EventKind.AUDIT_HEAD.text:
            return None
        change = facts.get("change")
        if not isinstance(change, int):
            return "it is no head of the journal: it names no change"
        self.journal_heads.append(JournalHead(place, change, str(facts.get("head"))))
        return None if self._keys is None else self._keys.mistake(facts)

    def _misfits_of_heads(self) -> Iterator[AuditMisfit]:
        """Yield the heads in the store that the files do not have.

        Of a process of which the files have no line at all, a file is missing: each server writes one of its own.
        """
        absent = [each for each in self._heads if each.chain not in self._first]
        if not self._is_continued:
            lines = {chain: max(each.line for each in absent if each.chain == chain) for chain in _chains(absent)}
            for chain, line in lines.items():
                place = next(each.place for each in absent if each.chain == chain)
                text = f"the store has {line:,} lines of {chain}, of which no file was given: name its file, too"
                yield AuditMisfit(place, text if self.count else f"{text}, or it was removed")
        for each in self._heads:
            if each.chain not in self._first:
                continue
            found = self._hash_by_line[each.chain, each.line]
            begun = self._first.get(each.chain)
            if found == each.head or (self._is_continued and (begun is None or each.line < begun)):
                continue
            if found is None:
                message = f"the store has line {each.line} of {each.chain}, which is missing: lines were removed"
            else:
                message = f"the store has another hash of line {each.line} of {each.chain}: the file was written anew"
            yield AuditMisfit(each.place, message)


# Events as lines of text: those in audit files, and those of a registry.


class ShownLine(NamedTuple):
    """A line to print: an event, or with ``is_mistake`` what is wrong with a line of a file."""

    text: str
    is_mistake: bool = False


def shown_lines(paths: Iterable[Path], selection: EventSelection, *, as_json: bool) -> Iterator[ShownLine]:
    """Yield a line for each selected event, and one for each line of a file that cannot be read."""
    for line in read_lines(paths):
        if line.facts is None:
            yield ShownLine(f"{line.place}: {line.mistake}", is_mistake=True)
        elif selection.selects(line.facts):
            yield ShownLine(canonical(line.facts).decode() if as_json else event_text(line.facts))


def event_text(facts: Document) -> str:
    """Return an event as a line of text."""
    caller = facts.get("caller")
    principal = caller.get("principal", "-") if isinstance(caller, dict) else "-"
    parts = [facts.get("time", ""), facts.get("event", ""), principal, facts.get("from", "-")]
    parts += [
        facts[name]
        for name in ("action", "resource", "version", "detail", "status", "reason", "request_id")
        if name in facts
    ]
    parts += [f"x{facts['count']}"] if "count" in facts else []
    return " ".join(map(str, parts))
