"""Applications with their expectations from ODPS documents that are valid under the standard.

Source: Open Data Product Standard 1.0.0. Ours are these properties in ``customProperties`` of an input port:

====================  ==============================================================================================
``reads``             a list of paths, or of ``{path, required, as, min, max, pattern, enum, unit, whenPresent}``;
                      ``"*"`` is the whole record, as is no list
``readerSchema``      the file of the consumer's own schema
``onUnknownEnum``     ``fail``, ``default`` or ``pass``; the rule of the language if it is not written
``consumerGroups``    a list of the groups by which the broker knows the consumer
``reprocessesFrom``   ``latest``, ``retention``, or a duration such as ``P30D``: the oldest data that is read again
``pinned``            whether it reads one version alone
====================  ==============================================================================================
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.schema.agreements.fields import Entry, Faults
from counterfoil.schema.agreements.model import Application, Expectation, OnUnknownEnum, Range, Read, SchemaLink
from counterfoil.schema.agreements.patterns import pattern_of
from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.documents.blocks import block, choice, flag, items, refusal, text_of, words
from counterfoil.schema.documents.nodes import Kind, MappingNode, ScalarNode
from counterfoil.schema.paths.errors import InvalidPath
from counterfoil.schema.paths.text import parse_path

if TYPE_CHECKING:
    from counterfoil.schema.agreements.model import Scalar
    from counterfoil.schema.documents.nodes import Node
    from counterfoil.schema.position import Position

WHOLE_RECORD: Final = "*"
LOGICAL_TYPES: Final = (
    "string", "integer", "number", "boolean", "date", "time", "timestamp", "bytes", "object", "array", "map",
)  # fmt: skip
"""The logical types that an expectation may rely on: those of ODCS, and bytes."""
_READ_KEYS: Final = ("required", "as", "min", "max", "pattern", "enum", "unit", "whenPresent")
_MAX_READ_BYTES: Final = 8 * 1024 * 1024
_READ_BYTES: Final = 1000
_NODE_BYTES: Final = 300
_CHAR_BYTES: Final = 4
_DURATION: Final = re.compile(r"P(?=.)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+S)?)?", re.ASCII)


def application_of(root: Node, faults: Faults) -> Application:
    """Return the application that a valid document declares; mistakes in our own properties are added to ``faults``."""
    top = Entry.of(root)
    team = top.get("team")
    return Application(
        id=top.text("id") or "",
        version=top.text("version"),
        status=top.text("status") or "",
        position=root.position,
        name=top.text("name"),
        owner=None if team is None else Entry.of(team).text("name"),
        expectations=tuple(_expectation(each, faults) for each in top.entries("inputPorts")),
        places=top.places,
    )


def ports_by_contract(root: Node) -> dict[str, list[Node]]:
    """Return the input ports of a valid document, by the id of the contract that each reads."""
    found: dict[str, list[Node]] = {}
    for each in Entry.of(root).entries("inputPorts"):
        found.setdefault(each.text("contractId") or "", []).append(each.node)
    return found


def expectation_of(port: Node) -> Expectation:
    """Return the expectation that an input port of a valid document declares."""
    return _expectation(Entry.of(port), Faults())


def _expectation(entry: Entry, faults: Faults) -> Expectation:
    own = entry.custom()
    url = faults.value(own, "readerSchema", partial(words, what="readerSchema"), None)
    read_enum = partial(choice, choices=OnUnknownEnum, what="onUnknownEnum")
    return Expectation(
        name=entry.text("name") or "",
        contract_id=entry.text("contractId") or "",
        version=entry.text("version") or "",
        position=entry.node.position,
        reads=faults.value(own, "reads", partial(_reads, faults=faults), None),
        reader_schema=None if url is None else SchemaLink(url, own["readerSchema"].position),
        on_unknown_enum=faults.value(own, "onUnknownEnum", read_enum, None),
        consumer_groups=faults.value(own, "consumerGroups", _groups, ()),
        reprocesses_from=faults.value(own, "reprocessesFrom", _since, None),
        is_pinned=faults.value(own, "pinned", partial(flag, what="pinned"), default=False),
        tags=entry.texts("tags"),
        places={**entry.places, **{key: node.position for key, node in own.items()}},
    )


def _groups(node: Node) -> tuple[str, ...]:
    return tuple(words(each, what="a consumer group") for each in items(node, what="consumerGroups"))


def _since(node: Node) -> str:
    text = text_of(node)
    if text not in {"latest", "retention"} and not _DURATION.fullmatch(text):
        raise refusal(
            f"reprocessesFrom must be latest, retention or a duration such as P30D, not {text or 'this'}", node
        )
    return text


def _reads(node: Node, faults: Faults) -> tuple[Read, ...] | None:
    """Return the paths that are read; None for the whole record. A faulty entry is left out."""
    nodes = items(node, what="reads")
    if any(text_of(each) == WHOLE_RECORD for each in nodes):
        return None
    read = (faults.reading(_read, each, None) for each in nodes)
    return tuple(each for each in read if each is not None)


def _read(node: Node) -> Read | None:
    if not isinstance(node, MappingNode):
        return _read_path(node, Entry.of(node))
    entries = tuple(node.entries.items())
    is_stored = bool(entries) and not node.key_positions
    if is_stored and all(isinstance(each, ScalarNode) for _, each in entries):
        return _stored_read(node.position, entries)
    return _read_entry(node)


def _size_of_read(_: Read, __: Position, entries: tuple[tuple[str, Node], ...]) -> int:
    texts = (len(key) + 2 * len(text_of(node)) for key, node in entries)
    return _READ_BYTES + sum(_NODE_BYTES + _CHAR_BYTES * each for each in texts)


@cached_by_size(_MAX_READ_BYTES, size_of=_size_of_read)
def _stored_read(position: Position, entries: tuple[tuple[str, Node], ...]) -> Read:
    """Return :func:`_read_entry` of an entry of scalars without the places of its keys, as it is stored.

    Many consumers of a contract read the same paths, and all that is stored has the same place.
    """
    return _read_entry(MappingNode(position, dict(entries), {}))


def _read_entry(node: MappingNode) -> Read:
    entry = Entry(block(node, what="an entry of reads", required=("path",), optional=_READ_KEYS))
    return _read_path(entry.node.entries["path"], entry)


def _read_path(node: Node, entry: Entry) -> Read:
    text = words(node, what="path")
    try:
        path = parse_path(text)
    except InvalidPath as mistake:
        raise refusal(str(mistake), node) from None
    logical, pattern, listed = entry.get("as"), entry.get("pattern"), entry.get("enum")
    if logical is not None and text_of(logical) not in LOGICAL_TYPES:
        raise refusal(f"as must be one of {', '.join(LOGICAL_TYPES)}, not {text_of(logical) or 'this'}", logical)
    return Read(
        path=path,
        position=node.position,
        is_required=_own_flag(entry, "required"),
        type=None if logical is None else text_of(logical),
        range=Range(_limit(entry, "min"), _limit(entry, "max")),
        pattern=None if pattern is None else pattern_of(pattern),
        enum=None if listed is None else tuple(_value(each) for each in items(listed, what="enum")),
        unit=entry.text("unit"),
        when_present=_own_flag(entry, "whenPresent"),
        places=entry.places,
    )


def _own_flag(entry: Entry, key: str) -> bool:
    node = entry.get(key)
    return node is not None and flag(node, what=key)


def _limit(entry: Entry, key: str) -> int | float | str | None:
    node = entry.get(key)
    if node is not None and (not isinstance(node, ScalarNode) or node.kind is Kind.BOOLEAN):
        raise refusal(f"{key} must be a number, or a date as text", node)
    return entry.limit(key)


def _value(node: Node) -> Scalar:
    if not isinstance(node, ScalarNode):
        raise refusal("a value of enum must be a text, a number, true or false", node)
    return node.text if node.kind is Kind.UNCLEAR else node.value
