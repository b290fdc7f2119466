"""Facts of elements, verdicts and rules in words, as pages write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from counterfoil.pages.links import PageLinks, anchor
from counterfoil.schema import texts
from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.rest.comparisons import (
    CellAnswer,
    DecodedBytes,
    DecodedNode,
    FrameKind,
    Operand,
    PlacedFinding,
    SchemaComparison,
)
from counterfoil.schema.rest.inspection import ElementKind, ElementRow, ReferenceName, VersionInspection, VersionStep

_MOST_SYMBOLS: Final = 12
LANGUAGES: Final = MappingProxyType({"AVRO": "Avro", "PROTOBUF": "Protobuf", "JSON": "JSON Schema"})


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with a noun in singular or plural, with a narrow space between thousands, as all numbers of pages.

    >>> counted(1, "version"), counted(4000, "entry", "entries")
    ('1 version', '4\u202f000 entries')
    """
    return texts.counted(count, noun, plural, spec=",").replace(",", "\u202f", f"{count:,}".count(","))


def element_facts(row: ElementRow) -> list[str]:
    """Return what a table says of an element below its type."""
    found = [] if row.kind in {ElementKind.FIELD, ElementKind.TYPE} else [row.kind.value]
    if row.label:
        found.append(row.label)
    if row.number is not None:
        found.append(f"number {row.number}")
    if row.required is not None:
        found.append("required" if row.required else "optional")
    found += row.constraints
    if row.symbols:
        found.append(symbol_words(row.symbols))
    if row.aliases:
        found.append(f"{'alias' if len(row.aliases) == 1 else 'aliases'} {', '.join(row.aliases)}")
    if row.reference:
        found.append(f"from the reference {row.reference}")
    return found


def symbol_words(symbols: Sequence[str]) -> str:
    """Return the symbols of an enum, the first ones if there are many.

    >>> symbol_words(("NEW", "PAID"))
    'NEW, PAID'
    """
    more = len(symbols) - _MOST_SYMBOLS
    listed = ", ".join(symbols[:_MOST_SYMBOLS])
    return f"{listed} and {more} more" if more > 0 else listed


@dataclass(frozen=True, slots=True)
class RowCells:
    """What a row of a table of elements needs besides the element: its places, addresses and facts as texts.

    ``place`` is the name of the row in the page, empty for a path that was there before; ``indent`` its depth, at most
    five. Each of the ``tags`` has its address, which is empty if there is no search.
    """

    row: ElementRow
    place: str
    url: str
    line_url: str
    facts: str
    indent: int
    tags: tuple[tuple[str, str], ...]


_DEEPEST: Final = 5


def row_cells(kind: str, rows: Sequence[ElementRow], subject: str, version: int, links: PageLinks) -> list[RowCells]:
    """Return the cells of each row; ``kind`` is that of their places: ``e`` for elements, ``t`` for types."""
    windows: dict[str, str] = {}
    tags: dict[str, str] = {}
    found = []
    for row, place in zip(rows, anchors_of(kind, [each.path for each in rows]), strict=True):
        line_url = ""
        if row.line is not None:
            first = window_of(row.line)
            if first not in windows:
                windows[first] = links.version(subject, version, view="source", lines=first)
            line_url = f"{windows[first]}#L{row.line}" if windows[first] else ""
        for tag in row.tags:
            if tag not in tags:
                tags[tag] = links.search(f"tag:{tag}")
        found.append(
            RowCells(
                row,
                place,
                links.element(subject, row.path),
                line_url,
                " · ".join(element_facts(row)),
                min(row.depth, _DEEPEST),
                tuple((tag, tags[tag]) for tag in row.tags),
            )
        )
    return found


def type_addresses(version: VersionInspection, links: PageLinks) -> dict[str, str]:
    """Return the addresses of the types that a version declares or refers to, by their names."""
    found = {each.path: f"#{anchor('t', each.path)}" for each in version.types if not each.reference}
    by_name = {each.name: each for each in version.references}
    for each in version.types:
        reference = by_name.get(each.reference)
        if reference is not None:
            found[each.path] = _reference_address(reference, links)
    for reference in version.references:
        found.setdefault(reference.name, _reference_address(reference, links))
    return {name: url for name, url in found.items() if url}


def _reference_address(reference: ReferenceName, links: PageLinks) -> str:
    return links.version(reference.subject, reference.version)


WINDOW: Final = 500
"""The lines of a window of a source."""


def anchors_of(kind: str, names: Sequence[str]) -> list[str]:
    """Return the place of each name in a page, empty for a name that was there before.

    >>> anchors_of("e", ["a", "b", "a"])
    ['e-a', 'e-b', '']
    """
    seen: set[str] = set()
    found = []
    for name in names:
        place = anchor(kind, name)
        found.append("" if place in seen else place)
        seen.add(place)
    return found


def window_of(line: int) -> str:
    """Return the first line of the window that has a line, empty for the first window.

    >>> window_of(500), window_of(501)
    ('', '501')
    """
    first = (line - 1) // WINDOW * WINDOW + 1
    return str(first) if first > 1 else ""


def counts_of_step(added: int, removed: int, changed: int) -> list[tuple[str, str, str]]:
    """Return the counts of a step as sign, word and class; zeros are left out.

    >>> counts_of_step(2, 0, 1)
    [('+', '2 added', 'added'), ('~', '1 changed', 'changed')]
    """
    counts = (("+", added, "added"), ("−", removed, "removed"), ("~", changed, "changed"))  # noqa: RUF001 (a minus sign)
    return [(sign, f"{count} {word}", word) for sign, count, word in counts if count]


def broken_directions(*, backward: bool | None, forward: bool | None) -> list[str]:
    """Return the directions in which a step cannot be read.

    >>> broken_directions(backward=True, forward=False)
    ['forward']
    """
    return [name for name, answer in (("backward", backward), ("forward", forward)) if answer is False]


def version_before(versions: Sequence[VersionStep], version: int) -> int | None:
    """Return the version before one that a step is counted from: the last one that is not deleted."""
    return max((each.version for each in versions if each.version < version and not each.is_deleted), default=None)


def cell_words(answer: CellAnswer, findings: int) -> str:
    """Return the answer of a cell in words."""
    match answer:
        case CellAnswer.READS:
            return "reads"
        case CellAnswer.BREAKS:
            return counted(findings, "finding") if findings else "cannot read"
        case CellAnswer.UNDECIDED:
            return "cannot say"
        case CellAnswer.IMPOSSIBLE:
            return "not comparable"


def side_name(side: Operand, other: Operand) -> str:
    """Return how a side of a comparison is called: ``v7``, with the subject if there are two, or ``the draft``."""
    if side.version is None:
        return "the draft"
    return f"v{side.version}" if side.subject == other.subject else f"{side.subject} v{side.version}"


def split_findings(
    compared: SchemaComparison, *, by_level: bool
) -> tuple[tuple[PlacedFinding, ...], tuple[PlacedFinding, ...]]:
    """Return the findings that count under the policy in force, and the others.

    ``by_level``: those that count are in a direction that the level in force requires.
    """
    policies = {each.policy for each in compared.cells if each.in_force}
    directions = {each.direction for each in compared.cells}
    level = next((each for each in CompatibilityLevel if each.value == compared.level), None)
    if by_level and level is not None:
        directions = {each.name.lower() for each in level.directions}
    counting = [each for each in compared.findings if each.direction in directions and policies & {*each.policies}]
    return tuple(counting), tuple(each for each in compared.findings if each not in counting)


_FRAMES: Final = MappingProxyType(
    {
        FrameKind.ID: "a schema id",
        FrameKind.GUID: "a guid",
        FrameKind.HEADER: "in a header of the record",
        FrameKind.SINGLE_OBJECT: "Avro's single-object encoding",
        FrameKind.NONE: "none",
    }
)


def frame_words(frame: FrameKind) -> str:
    """Return how bytes name the schema that wrote them."""
    return _FRAMES[frame]


_FRAME_PARTS: Final = MappingProxyType({FrameKind.ID: 2, FrameKind.GUID: 2, FrameKind.SINGLE_OBJECT: 2})
"""How many parts the frames have before the record, which are listed first."""


def is_frame(decoded: DecodedBytes, number: int) -> bool:
    """Return whether the part with a number from 0 is of the frame; Protobuf's has message indexes, too."""
    parts = _FRAME_PARTS.get(decoded.frame, 0) + (decoded.schema_type == "PROTOBUF" and decoded.frame != FrameKind.NONE)
    node = decoded.nodes[number]
    return number < parts and not node.path and node.depth == 0 and node.value is not None


def hidden_bytes(nodes: Sequence[DecodedNode]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of bytes that are hidden: those of masked nodes."""
    return tuple((each.first, each.end) for each in nodes if each.is_masked)


def is_hidden(node: DecodedNode, hidden: Sequence[tuple[int, int]]) -> bool:
    """Return whether a node has hidden bytes: it is masked, or is around or inside one that is.

    >>> is_hidden(DecodedNode(11, 29, "customer", "shop.Customer"), [(11, 29)])
    True
    """
    return node.is_masked or any(first < node.end and node.first < end for first, end in hidden)


def scope_words(scope: str | None) -> str:
    """Return where a setting comes from.

    >>> scope_words(None), scope_words(""), scope_words(":.__GLOBAL:")
    ('default of the server', 'the top level', 'the global level')
    """
    if scope is None:
        return "default of the server"
    if scope == "":
        return "the top level"
    return "the global level" if scope == ":.__GLOBAL:" else scope


def setting_words(value: str) -> str:
    """Return the value of a setting, which is a JSON text, as it is written in a sentence.

    >>> setting_words('"FULL"'), setting_words("true"), setting_words('{"a": 1}'), setting_words('""')
    ('FULL', 'true', '{"a": 1}', '""')
    """
    try:
        read = json.loads(value) if value.startswith('"') else value
    except ValueError:
        return value
    return read if isinstance(read, str) and read.strip() else value


def topic_of(subject: str) -> str:
    """Return the topic that a subject is of by its name; an empty text if it has no such name.

    >>> topic_of("orders-value"), topic_of("orders-key"), topic_of("orders")
    ('orders', 'orders', '')
    """
    for part in ("-value", "-key"):
        if subject.endswith(part):
            return subject.removesuffix(part)
    return ""


def without_reasons(message: str, reasons: Sequence[str]) -> str:
    """Return the sentence of a refusal without the reasons that it lists behind a colon.

    >>> without_reasons("It is incompatible with 's': [{a: 'b'}, {c: 'd'}]", ("{a: 'b'}", "{c: 'd'}"))
    "It is incompatible with 's'."
    """
    if not reasons:
        return message
    sentence, mark, _ = message.partition(f": [{reasons[0][:_FIRST_OF_REASON]}")
    return f"{sentence}." if mark else message


_FIRST_OF_REASON: Final = 40
_DAY_MS: Final = 24 * 3600 * 1000
_WHOLE: Final = 10


def clock(ts: int, span_ms: int) -> str:
    """Return a time of day in UTC, with the date if a plot is of more than a day."""
    found = datetime.fromtimestamp(ts / 1000, UTC)
    return found.strftime("%Y-%m-%d %H:%M" if span_ms > _DAY_MS else "%H:%M:%S")


def figure(value: float) -> str:
    """Return a number as a reader needs it: whole, with separators.

    >>> figure(1234.5), figure(0.25)
    ('1,234', '0.25')
    """
    return f"{value:,.0f}" if value >= _WHOLE or value == int(value) else f"{value:,.2f}"


WORDS: Final[Mapping[str, object]] = MappingProxyType(
    {
        "languages": LANGUAGES,
        "counted": counted,
        "symbols": symbol_words,
        "step_counts": counts_of_step,
        "broken": broken_directions,
        "before": version_before,
        "cell": cell_words,
        "scope": scope_words,
        "setting": setting_words,
        "topic": topic_of,
        "without_reasons": without_reasons,
        "side": side_name,
        "split_findings": split_findings,
        "frame": frame_words,
        "hidden_bytes": hidden_bytes,
        "is_frame": is_frame,
        "is_hidden": is_hidden,
        "clock": clock,
        "figure": figure,
        "anchors": anchors_of,
        "rows": row_cells,
    }
)
"""What templates use of this module."""
