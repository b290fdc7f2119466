"""The page of a contract as Markdown or HTML: what its fields mean, who owns it, and who reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.contracts.values.fields import paths_of
from counterfoil.schema.agreements import DataProduct, Expectation, FieldPromise, Promise
from counterfoil.schema.agreements.findings import SchemaFacts
from counterfoil.schema.paths import FieldPath, InvalidPath, PathNotFound, parse_path, print_path, resolve_path
from counterfoil.schema.reports.forms import code, page_head, plain

if TYPE_CHECKING:
    from counterfoil.contracts.generate.library import FoundContract


# Pages as values, printed as Markdown or as HTML without network and scripts.


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the cells of the first column are names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


Block: TypeAlias = Heading | Paragraph | Table


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page: its title and its blocks."""

    title: str
    blocks: Sequence[Block]


def markdown(page: DocumentPage) -> str:
    """Return the page as Markdown."""
    return "\n".join([f"# {plain(page.title)}", *(line for block in page.blocks for line in _markdown(block))]) + "\n"


def html(page: DocumentPage) -> str:
    """Return the page as one HTML file."""
    return "\n".join(_html(page)) + "\n"


def _markdown(block: Block) -> Iterator[str]:
    yield ""
    match block:
        case Heading():
            yield f"## {plain(block.text)}"
        case Paragraph():
            yield plain(block.text)
        case Table():
            yield _row(block.columns)
            yield _row(["---"] * len(block.columns))
            for name, *others in block.rows:
                yield _row([code(name) if name else "", *map(plain, others)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _html(page: DocumentPage) -> Iterator[str]:
    yield from page_head(page.title)
    for block in page.blocks:
        match block:
            case Heading():
                yield f"<h2>{escape(block.text)}</h2>"
            case Paragraph():
                yield f"<p>{escape(block.text)}</p>"
            case Table():
                head = "".join(f"<th>{escape(cell)}</th>" for cell in block.columns)
                yield f"<table>\n<tr>{head}</tr>"
                yield from map(_html_row, block.rows)
                yield "</table>"
    yield "</body>\n</html>"


def _html_row(cells: Sequence[str]) -> str:
    name, *others = cells
    return f"<tr><td><code>{escape(name)}</code></td>{''.join(f'<td>{escape(cell)}</td>' for cell in others)}</tr>"


# The page of a contract: what its fields mean, who owns it, and who reads it.

_TEXTS: Final = ("purpose", "usage", "limitations")
_FIELD_COLUMNS: Final = ("Field", "Type", "Meaning", "Values", "Unit", "Tags")


def contract_page(topics: Sequence[FoundContract], readers: Sequence[tuple[DataProduct, Expectation]]) -> DocumentPage:
    """Return the page of a contract; ``topics`` has each of its topics with the schema."""
    contract = topics[0].contract
    blocks: list[Block] = [
        Table(
            ("", ""),
            [
                ("id", contract.id),
                ("version", contract.version),
                ("status", contract.status or ""),
                ("owner", contract.owner or "nobody is named"),
                *((key, contract.description[key]) for key in _TEXTS if contract.description.get(key)),
            ],
        )
    ]
    for found in topics:
        blocks += _topic(found)
    if contract.service_levels:
        rows = [
            (each.property, f"{each.value}{f' {each.unit}' if each.unit else ''}", each.element or "")
            for each in contract.service_levels
        ]
        blocks += [Heading("Service levels"), Table(("Property", "Value", "About"), rows)]
    if contract.servers:
        servers = [(each.name, each.environment or "", each.registry or "") for each in contract.servers]
        blocks += [Heading("Servers"), Table(("Server", "Environment", "Registry"), servers)]
    if contract.migrations:
        moves = [
            (each.converter, each.source, each.target, "" if each.sunset is None else str(each.sunset))
            for each in contract.migrations
        ]
        blocks += [Heading("Migrations"), Table(("Converter", "From", "To", "Until"), moves)]
    blocks += [Heading("Who reads it"), *_readers(readers)]
    return DocumentPage(contract.name or contract.id, blocks)


def _topic(found: FoundContract) -> Iterator[Block]:
    promise = found.promise
    yield Heading(f"Topic {promise.topic}")
    language = found.examples.schema.schema_type.value
    yield Paragraph(f"{promise.name}: subject {promise.subject}, {language}, schema {found.value.path}.")
    yield Table(_FIELD_COLUMNS, [*_fields(found)])
    key = promise.key
    if key is not None:
        same = f"equal to {key.field}" if key.field else ""
        of = f"of the subject {key.subject}" if key.subject else ""
        yield Paragraph(f"Key: {', '.join(each for each in (same, of) if each)}.")
    if promise.headers:
        rows = [(each.name, "yes" if each.is_required else "no", each.pattern or "") for each in promise.headers]
        yield Table(("Header", "Required", "Pattern"), rows)
    if promise.quality:
        yield Table(("Rule", "Condition", "Severity"), [*_rules(promise)])


def _fields(found: FoundContract) -> Iterator[Sequence[str]]:
    schema = found.examples.parsed
    facts = SchemaFacts(schema)
    known = {print_path(each.path): each for each in found.promise.fields}
    leaves = paths_of(schema)
    for text in dict.fromkeys((*leaves, *known)):
        try:
            path = parse_path(text)
        except InvalidPath:
            continue
        promised = known.get(text)
        if promised is not None and text not in leaves and not _says_more(promised):
            continue
        fact = facts.at(path)
        words = "not in the schema" if fact is None else fact.words
        optional = fact is not None and fact.may_be_missing and not (promised is not None and promised.is_required)
        meaning = (promised.description if promised is not None else "") or _doc(found, path)
        yield (
            text,
            f"{words}, optional" if optional else words,
            f"Deprecated. {meaning}".strip() if promised is not None and promised.is_deprecated else meaning,
            "" if promised is None else _values(promised),
            (promised.unit if promised is not None else None) or "",
            "" if promised is None else ", ".join((*_classification(promised), *promised.tags)),
        )


def _says_more(promised: FieldPromise) -> bool:
    """Return whether a field with parts has any property besides its type."""
    return bool(promised.description or promised.tags or promised.classification or promised.is_deprecated)


def _values(promised: FieldPromise) -> str:
    parts = [str(promised.range)] if promised.range.is_limited else []
    parts += [f"matches {promised.pattern}"] if promised.pattern is not None else []
    if promised.enum is not None:
        parts += [f"{each.value}{f' ({each.description})' if each.description else ''}" for each in promised.enum]
    return ", ".join(parts)


def _classification(promised: FieldPromise) -> Sequence[str]:
    return () if promised.classification is None else (promised.classification,)


def _doc(found: FoundContract, path: FieldPath) -> str:
    """Return what the schema says of a field: Avro's ``doc``, JSON Schema's ``description``."""
    try:
        node = resolve_path(found.examples.parsed, path).node
    except PathNotFound:
        return ""
    doc = node.get("description") if isinstance(node, dict) else getattr(node, "doc", None)
    return doc if isinstance(doc, str) else ""


def _rules(promise: Promise) -> Iterator[Sequence[str]]:
    for each in promise.quality:
        limits = ", ".join(f"{key} {value}" for key, value in each.limits.items())
        condition = (each.implementation or " ".join(part for part in (each.metric, limits) if part)).strip()
        yield each.id or print_path(each.path) or each.type, condition, each.severity or "error"


def _readers(readers: Sequence[tuple[DataProduct, Expectation]]) -> Iterator[Block]:
    if not readers:
        yield Paragraph("No consumer here declares that it reads it.")
        return
    rows = []
    for application, expectation in readers:
        reads = "the whole record"
        if expectation.reads is not None:
            reads = ", ".join(print_path(each.path) for each in expectation.reads)
        rows.append((application.id, application.version or "", application.owner or "", reads))
    yield Table(("Application", "Version", "Owner", "Reads"), rows)
