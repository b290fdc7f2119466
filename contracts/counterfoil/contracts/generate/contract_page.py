"""The page of a contract as Markdown or HTML: what its fields mean, who owns it, and who reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.values.fields import paths_of
from counterfoil.pages.documents import (
    Block,
    Cell,
    DocumentSection,
    FileDocument,
    HeadingBlock,
    TableBlock,
    TextBlock,
    WordKind,
    Words,
)
from counterfoil.pages.files import document_file
from counterfoil.schema.agreements import DataProduct, Expectation, FieldPromise, Promise
from counterfoil.schema.agreements.findings import SchemaFacts
from counterfoil.schema.paths import FieldPath, InvalidPath, PathNotFound, parse_path, print_path, resolve_path
from counterfoil.schema.reports.forms import code, plain

if TYPE_CHECKING:
    from counterfoil.contracts.generate.library import FoundContract


# The document as Markdown or as an HTML file.


def markdown(page: FileDocument) -> str:
    """Return the page as Markdown."""
    blocks = [block for section in page.sections for block in (HeadingBlock(section.title), *section.blocks)]
    return "\n".join([f"# {plain(page.title)}", *(line for block in blocks for line in _markdown(block))]) + "\n"


def html(page: FileDocument) -> str:
    """Return the page as one HTML file."""
    return document_file(page)


def _markdown(block: Block) -> Iterator[str]:
    match block:
        case HeadingBlock(text=""):
            return
        case HeadingBlock():
            yield ""
            yield f"## {plain(block.text)}"
        case TextBlock():
            yield ""
            yield plain("".join(_plain_text(part) for part in block.parts))
        case TableBlock():
            yield ""
            yield _row(block.columns)
            yield _row(["---"] * len(block.columns))
            for name, *others in block.rows:
                yield _row([code(_plain_text(name)) if name else "", *(plain(_plain_text(each)) for each in others)])
        case _:
            raise TypeError(f"The page of a contract has no {type(block).__name__}")


def _plain_text(cell: Cell) -> str:
    return "" if cell is None else cell if isinstance(cell, str) else cell.text


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> TableBlock:
    """Return a table whose first column has names."""
    return TableBlock(columns, [(Words(name, WordKind.CODE) if name else None, *others) for name, *others in rows])


# The page of a contract: what its fields mean, who owns it, and who reads it.

_TEXTS: Final = ("purpose", "usage", "limitations")
_FIELD_COLUMNS: Final = ("Field", "Type", "Meaning", "Values", "Unit", "Tags")


def contract_page(topics: Sequence[FoundContract], readers: Sequence[tuple[DataProduct, Expectation]]) -> FileDocument:
    """Return the page of a contract; ``topics`` has each of its topics with the schema."""
    contract = topics[0].contract
    facts = [
        ("id", contract.id),
        ("version", contract.version),
        ("status", contract.status or ""),
        ("owner", contract.owner or "nobody is named"),
        *((key, contract.description[key]) for key in _TEXTS if contract.description.get(key)),
    ]
    sections = [DocumentSection("contract", "", [_table(("", ""), facts)])]
    sections += [_topic(number, found) for number, found in enumerate(topics, start=1)]
    if contract.service_levels:
        rows = [
            (each.property, f"{each.value}{f' {each.unit}' if each.unit else ''}", each.element or "")
            for each in contract.service_levels
        ]
        table = _table(("Property", "Value", "About"), rows)
        sections.append(DocumentSection("service-levels", "Service levels", [table]))
    if contract.servers:
        servers = [(each.name, each.environment or "", each.registry or "") for each in contract.servers]
        table = _table(("Server", "Environment", "Registry"), servers)
        sections.append(DocumentSection("servers", "Servers", [table]))
    if contract.migrations:
        moves = [
            (each.converter, each.source, each.target, "" if each.sunset is None else str(each.sunset))
            for each in contract.migrations
        ]
        table = _table(("Converter", "From", "To", "Until"), moves)
        sections.append(DocumentSection("migrations", "Migrations", [table]))
    sections.append(DocumentSection("readers", "Who reads it", [*_readers(readers)]))
    return FileDocument(contract.name or contract.id, sections)


def _topic(number: int, found: FoundContract) -> DocumentSection:
    return DocumentSection(f"topic-{number}", f"Topic {found.promise.topic}", [*_topic_blocks(found)])


def _topic_blocks(found: FoundContract) -> Iterator[Block]:
    promise = found.promise
    language = found.examples.schema.schema_type.value
    yield TextBlock((f"{promise.name}: subject {promise.subject}, {language}, schema {found.value.path}.",))
    yield _table(_FIELD_COLUMNS, [*_fields(found)])
    key = promise.key
    if key is not None:
        same = f"equal to {key.field}" if key.field else ""
        of = f"of the subject {key.subject}" if key.subject else ""
        yield TextBlock((f"Key: {', '.join(each for each in (same, of) if each)}.",))
    if promise.headers:
        rows = [(each.name, "yes" if each.is_required else "no", each.pattern or "") for each in promise.headers]
        yield _table(("Header", "Required", "Pattern"), rows)
    if promise.quality:
        yield _table(("Rule", "Condition", "Severity"), [*_rules(promise)])


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
    """Return the description of a field in the schema: Avro's ``doc``, JSON Schema's ``description``."""
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
        yield TextBlock(("No consumer here declares that it reads it.",))
        return
    rows = []
    for application, expectation in readers:
        reads = "the whole record"
        if expectation.reads is not None:
            reads = ", ".join(print_path(each.path) for each in expectation.reads)
        rows.append((application.id, application.version or "", application.owner or "", reads))
    yield _table(("Application", "Version", "Owner", "Reads"), rows)
