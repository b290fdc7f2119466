"""The changes between two schemas, contract or product files, or folders: which of them break, and the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import click

from counterfoil.contracts.advice import SIDE_NAMES_BY_DIRECTION
from counterfoil.contracts.errors import InvalidOperand, PreconditionFailed
from counterfoil.contracts.reports import TextStyle, Verbosity, printable
from counterfoil.schema.agreements.changes import agreement_changes
from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.compatibility.findings import Difference, Earlier
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.judgement import Incompatibility, judge
from counterfoil.schema.languages.table import find_changes
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import print_path
from counterfoil.schema.reports.forms import code, plain
from counterfoil.schema.texts import Pointer, Position, counted

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.operands import Folder, ReadAgreement
    from counterfoil.contracts.project import ReadSchema


_HARMLESS: Final = frozenset({ChangeKind.DOC_CHANGED, ChangeKind.TITLE_CHANGED, ChangeKind.SORT_ORDER_CHANGED})
"""The kinds of changes that break nothing."""


@dataclass(frozen=True, slots=True)
class BreakTerms:
    """The level and the policy in force."""

    level: CompatibilityLevel = CompatibilityLevel.BACKWARD
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT


USUAL_TERMS: Final = BreakTerms()
"""The terms where nothing else is known."""


class BreakingChange(NamedTuple):
    """One reason why a schema cannot read what the other one writes; ``is_allowed``: the level does not forbid it.

    ``BACKWARD``: the later schema is the reader. ``element`` is the place in names.
    """

    direction: Direction
    rule: str
    element: str
    text: str
    is_allowed: bool


@dataclass(frozen=True, slots=True)
class Breaks:
    """The breaks between two schemas under ``terms``: those of each change, and ``others`` that no change explains."""

    terms: BreakTerms
    by_change: tuple[tuple[BreakingChange, ...], ...]
    others: tuple[BreakingChange, ...] = ()

    @property
    def is_compatible(self) -> bool:
        """Whether the level in force allows all of them."""
        return all(each.is_allowed for each in (*self.others, *(one for of in self.by_change for one in of)))

    @property
    def forbidden(self) -> int:
        """The number of changes with a break that the level forbids, and of further breaks."""
        changes = sum(any(not each.is_allowed for each in of) for of in self.by_change)
        return changes + sum(not each.is_allowed for each in self.others)


def find_breaks(was: ParsedSchema, now: ParsedSchema, changes: Sequence[Change], terms: BreakTerms) -> Breaks:
    """Return which of ``changes`` from ``was`` to ``now`` break under ``terms``, in both directions.

    The differences are those of the judgement, which compares whole schemas; each is found at the change that is
    nearest to its place. Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
    """
    found: list[list[BreakingChange]] = [[] for _ in changes]
    others = []
    places = _Places(changes)
    judgement = judge(now, [Earlier(was)], CompatibilityLevel.FULL, policy=terms.policy)
    for each in judgement.incompatibilities:
        made = _breaking(each, terms)
        numbers = places.nearest(each)
        for number in numbers:
            found[number].append(made)
        if not numbers:
            others.append(made)
    return Breaks(terms, tuple(map(tuple, found)), tuple(others))


def _breaking(found: Incompatibility, terms: BreakTerms) -> BreakingChange:
    direction, difference = found.failure.direction, found.difference
    text = difference.sentence.render(SIDE_NAMES_BY_DIRECTION[direction], is_start=False)
    is_allowed = direction not in terms.level.directions
    return BreakingChange(direction, difference.rule, print_path(difference.element), text, is_allowed)


class _Places:
    """The changes by their places, so that those around the place of a difference are found without a look at all."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes
        weighty = [number for number, change in enumerate(changes) if change.kind not in _HARMLESS]
        self._only = weighty if len(weighty) == 1 else []
        self._at: dict[tuple[bool, Pointer], list[int]] = {}
        self._below: dict[tuple[bool, Pointer], list[int]] = {}
        for number, change in enumerate(changes):
            for is_later, pointer in ((True, change.later_pointer), (False, change.earlier_pointer)):
                self._at.setdefault((is_later, pointer), []).append(number)
                for length in range(1 if len(pointer) > 1 else 0, len(pointer)):
                    self._below.setdefault((is_later, pointer[:length]), []).append(number)

    def nearest(self, found: Incompatibility) -> list[int]:
        """Return the numbers of the changes at the place of a difference; several if nothing tells them apart.

        The only change is the cause of differences at any place of the texts.
        """
        difference = found.difference
        later, earlier = difference.reader_pointer, difference.writer_pointer
        if found.failure.direction is Direction.FORWARD:
            later, earlier = earlier, later
        scores = {number: _score(self._changes[number], later, earlier) for number in self._around(later, earlier)}
        best = max(scores.values(), default=0)
        nearest = [number for number, score in scores.items() if score == best and best > 0]
        named = [number for number in nearest if _is_named(self._changes[number], difference)]
        return named or nearest or (self._only if _is_own(difference) else [])

    def _around(self, later: Pointer, earlier: Pointer) -> list[int]:
        found: set[int] = set()
        for is_later, pointer in ((True, later), (False, earlier)):
            found.update(self._below.get((is_later, pointer), ()))
            for length in range(len(pointer) + 1):
                found.update(self._at.get((is_later, pointer[:length]), ()))
        return sorted(number for number in found if self._changes[number].kind not in _HARMLESS)


def _score(change: Change, later: Pointer, earlier: Pointer) -> int:
    """Return how near a change is to a place; 0 if it is elsewhere."""
    sides = ((change.later_pointer, later), (change.earlier_pointer, earlier))
    if change.later_pointer == later and change.earlier_pointer == earlier:
        return 3 + len(later) + len(earlier) + len(change.later_pointer) + len(change.earlier_pointer)
    if not any(_is_related(mine, theirs) for mine, theirs in sides):
        return 0
    return 1 + sum(2 * _shared(mine, theirs) + (mine == theirs) for mine, theirs in sides)


def _is_related(mine: Pointer, theirs: Pointer) -> bool:
    """Return whether one place is inside the other one; in the whole schema are only it and its members."""
    if not mine:
        return len(theirs) <= 1
    is_inside = mine == theirs[: len(mine)] or theirs == mine[: len(theirs)]
    return is_inside and (bool(theirs) or len(mine) == 1)


def _is_own(difference: Difference) -> bool:
    """Return whether a difference is in the texts themselves, and not in one that they refer to."""
    origins = (difference.reader_origin, difference.writer_origin)
    return all(origin is None or origin.is_own for origin in origins)


def _shared(first: Pointer, second: Pointer) -> int:
    number = 0
    while number < min(len(first), len(second)) and first[number] == second[number]:
        number += 1
    return number


def _is_named(change: Change, difference: Difference) -> bool:
    """Return whether the facts of a difference name what a change added or removed."""
    facts = " ".join(difference.own_facts)
    values = [value for value in (change.earlier, change.later) if value]
    return any(value in facts or value.partition(" ")[0] in facts.split() for value in values)


SCHEMA_VERSION = 1
_COLOURS: Final = {"~": "yellow", "+": "green", "-": "red", "!": "red"}


class PrintedChange(NamedTuple):
    """One change, with its place on each side that has one, and what it breaks."""

    kind: str
    element: str
    earlier: str | None
    later: str | None
    text: str
    earlier_position: Position | None
    later_position: Position | None
    breaks: tuple[BreakingChange, ...] = ()


class DiffSide(NamedTuple):
    """One side of a comparison: its name on the command line, and the name that it has itself."""

    label: str
    name: str | None


@dataclass(frozen=True, slots=True)
class DiffReport:
    """Two schemas, or two contract or product files, and the changes between them.

    ``breaks`` are the breaks between two schemas; contract and product files are compared without a verdict.
    """

    earlier: DiffSide
    later: DiffSide
    changes: tuple[PrintedChange, ...]
    breaks: Breaks | None = None

    @classmethod
    def of(cls, earlier: ReadSchema, later: ReadSchema, terms: BreakTerms = USUAL_TERMS) -> Self:
        """Return the report on two schemas that were read without problem, judged under ``terms``.

        Schemas of two languages cannot be compared, nor those that are nested too deep.
        """
        was, now = earlier.schema, later.schema
        if was and now and was.schema_type is now.schema_type:
            found = find_changes(was, now)
            try:
                breaks = find_breaks(was, now, found, terms)
            except InvalidSchema as problem:
                raise InvalidOperand(later.label, problem.message) from None
            placed = (_placed(each, was, now, of) for each, of in zip(found, breaks.by_change, strict=True))
            return cls(DiffSide(earlier.label, was.name), DiffSide(later.label, now.name), tuple(placed), breaks)
        languages = (f"{side.label} ({side.schema.schema_type})" for side in (earlier, later) if side.schema)
        raise PreconditionFailed(f"{' and '.join(languages)} are not schemas of one language")

    @classmethod
    def of_agreements(cls, earlier: ReadAgreement, later: ReadAgreement) -> Self:
        """Return the report on two contract files, or two product files."""
        was, now = earlier.agreement, later.agreement
        if type(was) is not type(now):
            raise PreconditionFailed(f"of {earlier.label} and {later.label}, one is a contract and one a product")
        changes = (
            PrintedChange(
                each.kind,
                each.element,
                each.earlier,
                each.later,
                each.text,
                each.earlier_position,
                each.later_position,
            )
            for each in agreement_changes(was, now)
        )
        return cls(DiffSide(earlier.label, was.id), DiffSide(later.label, now.id), tuple(changes))

    @property
    def is_changed(self) -> bool:
        """Whether anything changed, in the texts or in what they refer to."""
        return bool(self.changes) or (self.breaks is not None and bool(self.breaks.others))

    def position(self, change: PrintedChange) -> tuple[DiffSide, Position | None]:
        """Return the side that shows the change, and the position there: the later side, except for removed parts."""
        if change.later is None and change.earlier_position is not None:
            return self.earlier, change.earlier_position
        return self.later, change.later_position


def _placed(change: Change, was: ParsedSchema, now: ParsedSchema, breaks: tuple[BreakingChange, ...]) -> PrintedChange:
    return PrintedChange(
        change.kind,
        change.element,
        change.earlier,
        change.later,
        change.text,
        was.locate(change.earlier_pointer),
        now.locate(change.later_pointer),
        breaks,
    )


@dataclass(frozen=True, slots=True)
class FolderDiffReport:
    """Two folders and what changed between their schema, contract and product files, which have the same paths inside.

    ``changed`` has the files that are in both and differ.
    """

    earlier: Folder
    later: Folder
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: dict[str, DiffReport]

    @classmethod
    def of(cls, earlier: Folder, later: Folder, terms: Callable[[str], BreakTerms] = lambda _: USUAL_TERMS) -> Self:
        """Return the report on two folders; ``terms`` returns those of a schema file by its path inside them."""
        was, now = {*earlier.path_by_name, *earlier.agreements}, {*later.path_by_name, *later.agreements}
        reports = {name: _compared(name, earlier, later, terms) for name in sorted(was & now)}
        changed = {name: report for name, report in reports.items() if report.is_changed}
        return cls(earlier, later, tuple(sorted(now - was)), tuple(sorted(was - now)), changed)

    @property
    def names(self) -> list[str]:
        """The paths of all files that differ."""
        return sorted((*self.added, *self.removed, *self.changed))

    @property
    def count(self) -> str:
        """How many files differ, in words."""
        return counted(len(self.names), "changed file")


def _compared(name: str, earlier: Folder, later: Folder, terms: Callable[[str], BreakTerms]) -> DiffReport:
    if name in earlier.agreements and name in later.agreements:
        return DiffReport.of_agreements(earlier.read_agreement(name), later.read_agreement(name))
    return DiffReport.of(earlier.read(name), later.read(name), terms(name))


def text_diff(report: DiffReport | FolderDiffReport, style: TextStyle) -> str:
    """Return one line for each change: sign, element, change, place; for folders below a line for each file.

    Quiet text has no last line with the count.
    """
    if isinstance(report, DiffReport):
        lines = _lines(report, style)
        count, earlier, later = counted(len(report.changes), "change"), report.earlier.label, report.later.label
    else:
        lines = [line for name in report.names for line in _file_lines(report, name, style)]
        count, earlier, later = report.count, report.earlier.operand, report.later.operand
    if style.verbosity is not Verbosity.QUIET:
        verdict = _verdict(report.breaks) if isinstance(report, DiffReport) else ""
        lines.append(printable(f"{count} from {earlier} to {later}{verdict}"))
    return "".join(f"{line}\n" for line in lines)


def _file_lines(report: FolderDiffReport, name: str, style: TextStyle) -> list[str]:
    if name in report.changed:
        inner = report.changed[name]
        return [_signed("~", name, style), *(f"  {line}" for line in _lines(inner, style))]
    is_added = name in report.added
    return [_signed("+" if is_added else "-", f"{name}: file {'added' if is_added else 'removed'}", style)]


def _lines(report: DiffReport, style: TextStyle) -> list[str]:
    """Return a line for each change, and for each break that no change of the text explains."""
    others = report.breaks.others if report.breaks is not None else ()
    return [
        *(_line(report, change, style) for change in report.changes),
        *(_signed("!", f"{_named(each)}{each.text}  {_breaks_text((each,))}", style) for each in others),
    ]


def _named(found: BreakingChange) -> str:
    return f"{found.element}: " if found.element else ""


def _breaks_text(breaks: Sequence[BreakingChange]) -> str:
    """Return which directions break, with the rules; ``allowed`` is what the level in force does not forbid."""
    rules: dict[tuple[Direction, bool], list[str]] = {}
    for each in breaks:
        rules.setdefault((each.direction, each.is_allowed), []).append(each.rule)
    parts = (
        f"{direction.name}{', allowed' if is_allowed else ''} ({', '.join(dict.fromkeys(of))})"
        for (direction, is_allowed), of in sorted(rules.items(), key=lambda one: (one[0][1], one[0][0].name))
    )
    return f"breaks {'; '.join(parts)}" if breaks else ""


def _verdict(breaks: Breaks | None) -> str:
    """Return how many changes the level in force forbids; empty where nothing changed, or nothing is judged."""
    if breaks is None or not (breaks.by_change or breaks.others):
        return ""
    terms = f"{breaks.terms.level} under {breaks.terms.policy}"
    if breaks.is_compatible:
        return f"  (allowed by {terms})"
    verb = "is" if breaks.forbidden == 1 else "are"
    return f"  ({breaks.forbidden} {verb} forbidden by {terms})"


def _line(report: DiffReport, change: PrintedChange, style: TextStyle) -> str:
    sign = "+" if change.kind.endswith("-added") else "-" if change.kind.endswith("-removed") else "~"
    side, position = report.position(change)
    element = f"{change.element}: " if change.element else ""
    where = f"  ({side.label}:{position})" if position else ""
    breaks = f"  {_breaks_text(change.breaks)}" if change.breaks else ""
    return _signed(sign, f"{element}{change.text}{where}{breaks}", style)


def _signed(sign: str, text: str, style: TextStyle) -> str:
    line = printable(f"{sign} {text}")
    return click.style(line, fg=_COLOURS[sign]) if style.is_coloured else line


def markdown_diff(report: DiffReport | FolderDiffReport) -> str:
    """Return the changes as a table in Markdown; for folders a table for each file."""
    if isinstance(report, DiffReport):
        count = counted(len(report.changes), "change")
        lines = [f"### {count} from {code(report.earlier.label)} to {code(report.later.label)}", "", *_table(report)]
    else:
        lines = [f"### {report.count} from {code(report.earlier.operand)} to {code(report.later.operand)}", ""]
        lines += [f"- {code(name)}: file added" for name in report.added]
        lines += [f"- {code(name)}: file removed" for name in report.removed]
        for name, inner in report.changed.items():
            lines += ["", f"#### {code(name)}", "", *_table(inner)]
    return "".join(f"{line}\n" for line in lines)


def _table(report: DiffReport) -> list[str]:
    lines = ["| element | change | where | breaks |", "|---|---|---|---|"] if report.is_changed else []
    for change in report.changes:
        side, position = report.position(change)
        where = code(f"{side.label}:{position}") if position else ""
        element = code(change.element) if change.element else ""
        lines.append(f"| {element} | {plain(change.text)} | {where} | {plain(_breaks_text(change.breaks))} |")
    for each in report.breaks.others if report.breaks is not None else ():
        element = code(each.element) if each.element else ""
        lines.append(f"| {element} | {plain(each.text)} |  | {plain(_breaks_text((each,)))} |")
    verdict = _verdict(report.breaks).strip(" ()")
    return [*lines, "", f"{verdict[:1].upper()}{verdict[1:]}."] if verdict else lines


def json_diff(report: DiffReport | FolderDiffReport) -> str:
    """Return the changes as indented JSON; members are only ever added to this form."""
    document: JsonObject = {"schemaVersion": SCHEMA_VERSION, "kind": "diff"}
    if isinstance(report, DiffReport):
        document |= {"earlier": _side(report.earlier), "later": _side(report.later), "changes": _changes(report)}
        document["verdict"] = _verdict_document(report.breaks)
    else:
        sides = {"earlier": report.earlier, "later": report.later}
        document |= {side: {"operand": folder.operand, "name": None} for side, folder in sides.items()}
        document["files"] = [_file(report, name) for name in report.names]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _file(report: FolderDiffReport, name: str) -> JsonObject:
    status = "added" if name in report.added else "removed" if name in report.removed else "changed"
    inner = report.changed.get(name)
    verdict = None if inner is None else _verdict_document(inner.breaks)
    return {"path": name, "status": status, "changes": _changes(inner) if inner else [], "verdict": verdict}


def _verdict_document(breaks: Breaks | None) -> JsonObject | None:
    """Return the verdict on two schemas; None for files that are not judged."""
    if breaks is None:
        return None
    return {
        "compatible": breaks.is_compatible,
        "level": str(breaks.terms.level),
        "policy": str(breaks.terms.policy),
        "otherBreaks": [_break(each) for each in breaks.others],
    }


def _break(found: BreakingChange) -> JsonObject:
    return {
        "direction": found.direction.name,
        "rule": found.rule,
        "element": found.element,
        "text": found.text,
        "allowed": found.is_allowed,
    }


def _changes(report: DiffReport) -> list[JsonObject]:
    return [_change(change) for change in report.changes]


def _side(side: DiffSide) -> JsonObject:
    return {"operand": side.label, "name": side.name}


def _change(change: PrintedChange) -> JsonObject:
    return {
        "kind": change.kind,
        "element": change.element,
        "earlier": change.earlier,
        "later": change.later,
        "text": change.text,
        "earlierPosition": _position(change.earlier_position),
        "laterPosition": _position(change.later_position),
        "breaks": [_break(each) for each in change.breaks],
    }


def _position(found: Position | None) -> dict[str, int] | None:
    return {"line": found.line, "column": found.column} if found else None
