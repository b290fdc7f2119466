"""Contract and product files: contracts and consumers from valid documents, their identity by content."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.agreements import (
    Agreement,
    AgreementFault,
    AgreementReading,
    Contract,
    DataProduct,
    EnumPolicy,
    EnumValue,
    Expectation,
    ExpectedRead,
    FieldPromise,
    HeaderPromise,
    KeyPromise,
    Migration,
    OnUnknownEnum,
    Promise,
    QualityRule,
    Scalar,
    SchemaLink,
    Server,
    ServiceLevel,
    ValueRange,
)
from counterfoil.schema.agreements.standards import (
    INVALID,
    ODCS,
    Faults,
    Standard,
    ValidMapping,
    is_quickly_valid,
    pattern_of,
    standard_of,
    violations,
)
from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.datum import Json
from counterfoil.schema.documents import (
    InvalidDocument,
    MappingNode,
    Node,
    ScalarNode,
    YamlKind,
    address,
    block,
    choice,
    day,
    flag,
    items,
    node_json,
    refusal,
    text_of,
    words,
)
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.model import Schema
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, InvalidPath, member, parse_path
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.rest.contracts import PublishedContract


# Contracts from ODCS documents that are valid under the standard.
#
# Source: Open Data Contract Standard 3.1.0 and 3.2.0. Ours are these properties in ``customProperties``:
#
# ==================  =========================  ================================================================
# ``subject``         of an entry of ``schema``  the registry's subject; default ``<physicalName>-value``
# ``compatibility``   of an entry of ``schema``  the level that the subject is to have
# ``messageKey``      of an entry of ``schema``  ``{subject, field, schema}`` of the records' keys
# ``headers``         of an entry of ``schema``  a list of ``{name, required, pattern}``
# ``unit``            of a property              a UCUM code, or a currency such as ``EUR`` or ``EUR.cent``
# ``enumPolicy``      of a property              ``open`` or ``closed``
# ``registry``        of a server                the address of the registry
# ``migration``       of the document            a list of ``{from, to, converter, sunset}``
# ==================  =========================  ================================================================

_TOPIC: Final = "physicalName"
SCHEMA_TYPE: Final = "schema"
"""The type of the authoritative definition that names the schema file."""


def contract_of(root: Node, faults: Faults) -> Contract:
    """Return the contract that a valid document declares; mistakes in our own properties are added to ``faults``."""
    top = ValidMapping.of(root)
    own = top.custom()
    return Contract(
        id=top.text("id") or "",
        version=top.text("version") or "",
        status=top.text("status"),
        position=root.position,
        name=top.text("name"),
        owner=ValidMapping.of(team).text("name") if (team := top.get("team")) is not None else None,
        promises=tuple(_promise(each, faults) for each in top.entries("schema")),
        service_levels=tuple(_service_level(each) for each in top.entries("slaProperties")),
        servers=tuple(_server(each, faults) for each in top.entries("servers")),
        migrations=faults.value(own, "migration", _migrations, ()),
        description={key: str(text) for key, text in top.plain("description").items() if isinstance(text, str)},
        places=top.places,
    )


def _promise(entry: ValidMapping, faults: Faults) -> Promise:
    own = entry.custom()
    name = entry.text("name") or ""
    topic = entry.text(_TOPIC) or name
    read_level = partial(choice, choices=CompatibilityLevel, what="compatibility", folded=True)
    fields = tuple(each for one in entry.entries("properties") for each in _fields(one, (), faults))
    return Promise(
        name=name,
        topic=topic,
        subject=faults.value(own, "subject", partial(words, what="subject"), f"{topic}-value"),
        position=entry.node.position,
        level=faults.value(own, "compatibility", read_level, None),
        schema=_schema_link(entry),
        key=faults.value(own, "messageKey", _key, None),
        headers=faults.value(own, "headers", _headers, ()),
        fields=tuple(each[0] for each in fields),
        quality=(*_quality(entry, ()), *(rule for each in fields for rule in each[1])),
        places={key: node.position for key, node in (*_named(entry), *own.items())},
    )


def _named(entry: ValidMapping) -> Iterator[tuple[str, Node]]:
    """Yield the key that names the topic, if there is one."""
    node = entry.get(_TOPIC)
    if node is not None:
        yield _TOPIC, node


def _schema_link(entry: ValidMapping) -> SchemaLink | None:
    for each in entry.entries("authoritativeDefinitions"):
        url = each.get("url")
        if each.text("type") == SCHEMA_TYPE and url is not None:
            return SchemaLink(text_of(url), url.position)
    return None


def _fields(
    entry: ValidMapping, around: FieldPath, faults: Faults
) -> Iterator[tuple[FieldPromise, tuple[QualityRule, ...]]]:
    """Yield the promises about a property and those inside it, each with its quality rules."""
    path = (*around, member(entry.text("physicalName") or entry.text("name") or ""))
    yield _field(entry, path, faults), tuple(_quality(entry, path))
    yield from _inside(entry, path, faults)


def _inside(
    entry: ValidMapping, path: FieldPath, faults: Faults
) -> Iterator[tuple[FieldPromise, tuple[QualityRule, ...]]]:
    for each in entry.entries("properties"):
        yield from _fields(each, path, faults)
    parts = [(entry.get("items"), ITEMS)]
    if (mapping := entry.get("map")) is not None:
        parts.append((ValidMapping.of(mapping).get("value"), VALUES))
    for node, step in parts:
        if node is not None:
            part = ValidMapping.of(node)
            yield _field(part, (*path, step), faults), tuple(_quality(part, (*path, step)))
            yield from _inside(part, (*path, step), faults)


def _field(entry: ValidMapping, path: FieldPath, faults: Faults) -> FieldPromise:
    own = entry.custom()
    options = (
        ValidMapping.of(found)
        if (found := entry.get("logicalTypeOptions")) is not None
        else ValidMapping.of(entry.node)
    )
    has_options = found is not None
    pattern = options.get("pattern") if has_options else None
    read_policy = partial(choice, choices=EnumPolicy, what="enumPolicy")
    return FieldPromise(
        path=path,
        position=entry.node.position,
        logical_type=entry.text("logicalType"),
        is_required=entry.flag("required"),
        is_unique=entry.flag("unique"),
        range=_range(options) if has_options else ValueRange(),
        pattern=faults.reading(pattern_of, pattern, None) if pattern is not None else None,
        enum=_enum(entry) if entry.get("enum") is not None else None,
        enum_policy=faults.value(own, "enumPolicy", read_policy, None),
        unit=faults.value(own, "unit", partial(words, what="unit"), None),
        is_deprecated=entry.flag("deprecated"),
        classification=entry.text("classification"),
        tags=entry.texts("tags"),
        description=entry.text("description") or "",
        places={key: node.position for key, node in (*entry.node.entries.items(), *own.items())},
    )


def _range(options: ValidMapping) -> ValueRange:
    """Return the limits; of a limit and an excluded one on the same side, the excluded one counts if it is given."""
    low, high = options.limit("exclusiveMinimum"), options.limit("exclusiveMaximum")
    return ValueRange(
        options.limit("minimum") if low is None else low,
        options.limit("maximum") if high is None else high,
        is_open_below=low is not None,
        is_open_above=high is not None,
    )


def _enum(entry: ValidMapping) -> tuple[EnumValue, ...]:
    return tuple(
        EnumValue(each.scalar("value"), each.text("description") or "", each.node.position)
        for each in entry.entries("enum")
    )


def _quality(entry: ValidMapping, path: FieldPath) -> Iterator[QualityRule]:
    for each in entry.entries("quality"):
        limits = {key: each.plain_at(key) for key in each.node.entries if key.startswith(("mustBe", "mustNotBe"))}
        implementation = each.get("implementation")
        yield QualityRule(
            position=each.node.position if implementation is None else implementation.position,
            type=each.text("type") or "library",
            path=path,
            id=each.text("id"),
            engine=each.text("engine"),
            implementation=each.text("implementation"),
            metric=each.text("metric") or each.text("rule"),
            is_percent=each.text("unit") == "percent",
            severity=each.text("severity"),
            arguments=each.plain("arguments"),
            limits=limits,
        )


def _key(node: Node) -> KeyPromise:
    entry = ValidMapping(block(node, what="messageKey", optional=("subject", "field", "schema")))
    schema = entry.get("schema")
    link = None if schema is None else SchemaLink(words(schema, what="schema"), schema.position)
    return KeyPromise(entry.text("subject"), entry.text("field"), link)


def _headers(node: Node) -> tuple[HeaderPromise, ...]:
    return tuple(_header(each) for each in items(node, what="headers"))


def _header(node: Node) -> HeaderPromise:
    entry = ValidMapping(block(node, what="a header", required=("name",), optional=("required", "pattern")))
    pattern = entry.get("pattern")
    return HeaderPromise(
        words(entry.node.entries["name"], what="name"),
        entry.flag("required"),
        None if pattern is None else pattern_of(pattern),
    )


def _service_level(entry: ValidMapping) -> ServiceLevel:
    element = entry.get("element")
    return ServiceLevel(
        entry.text("property") or "",
        entry.scalar("value"),
        entry.text("unit"),
        entry.text("element"),
        entry.node.position if element is None else element.position,
    )


def _server(entry: ValidMapping, faults: Faults) -> Server:
    url = faults.value(entry.custom(), "registry", partial(address, what="registry"), None)
    host = entry.text("host")
    return Server(entry.text("server") or "", entry.text("type") or "", entry.text("environment"), url, host)


def _migrations(node: Node) -> tuple[Migration, ...]:
    return tuple(_migration(each) for each in items(node, what="migration"))


def _migration(node: Node) -> Migration:
    entry = block(node, what="a migration", required=("from", "to", "converter"), optional=("sunset",))
    sunset = entry.entries.get("sunset")
    return Migration(
        source=words(entry.entries["from"], what="from"),
        target=words(entry.entries["to"], what="to"),
        converter=words(entry.entries["converter"], what="converter"),
        sunset=None if sunset is None else day(sunset, what="sunset"),
        position=entry.entries["converter"].position,
    )


# Applications with their expectations from ODPS documents that are valid under the standard.
#
# Source: Open Data Product Standard 1.0.0. Ours are these properties in ``customProperties`` of an input port:
#
# ====================  ==============================================================================================
# ``reads``             a list of paths, or of ``{path, required, as, min, max, pattern, enum, unit, whenPresent}``;
#                       ``"*"`` is the whole record, as is no list
# ``readerSchema``      the file of the consumer's own schema
# ``onUnknownEnum``     ``fail``, ``default`` or ``pass``; the rule of the language if it is not written
# ``consumerGroups``    a list of the groups by which the broker knows the consumer
# ``reprocessesFrom``   ``latest``, ``retention``, or a duration such as ``P30D``: the oldest data that is read again
# ``pinned``            whether it reads one version alone
# ====================  ==============================================================================================

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


def application_of(root: Node, faults: Faults) -> DataProduct:
    """Return the application that a valid document declares; mistakes in our own properties are added to ``faults``."""
    top = ValidMapping.of(root)
    team = top.get("team")
    return DataProduct(
        id=top.text("id") or "",
        version=top.text("version"),
        status=top.text("status") or "",
        position=root.position,
        name=top.text("name"),
        owner=None if team is None else ValidMapping.of(team).text("name"),
        expectations=tuple(_expectation(each, faults) for each in top.entries("inputPorts")),
        places=top.places,
    )


def ports_by_contract(root: Node) -> dict[str, list[Node]]:
    """Return the input ports of a valid document, by the id of the contract that each reads."""
    found: dict[str, list[Node]] = {}
    for each in ValidMapping.of(root).entries("inputPorts"):
        found.setdefault(each.text("contractId") or "", []).append(each.node)
    return found


def expectation_of(port: Node) -> Expectation:
    """Return the expectation that an input port of a valid document declares."""
    return _expectation(ValidMapping.of(port), Faults())


def _expectation(entry: ValidMapping, faults: Faults) -> Expectation:
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


def _reads(node: Node, faults: Faults) -> tuple[ExpectedRead, ...] | None:
    """Return the paths that are read; None for the whole record. A faulty entry is left out."""
    nodes = items(node, what="reads")
    if any(text_of(each) == WHOLE_RECORD for each in nodes):
        return None
    read = (faults.reading(_read, each, None) for each in nodes)
    return tuple(each for each in read if each is not None)


def _read(node: Node) -> ExpectedRead | None:
    if not isinstance(node, MappingNode):
        return _read_path(node, ValidMapping.of(node))
    entries = tuple(node.entries.items())
    is_stored = bool(entries) and not node.key_positions
    if is_stored and all(isinstance(each, ScalarNode) for _, each in entries):
        return _stored_read(node.position, entries)
    return _read_entry(node)


def _size_of_read(_: ExpectedRead, __: Position, entries: tuple[tuple[str, Node], ...]) -> int:
    texts = (len(key) + 2 * len(text_of(node)) for key, node in entries)
    return _READ_BYTES + sum(_NODE_BYTES + _CHAR_BYTES * each for each in texts)


@cached_by_size(_MAX_READ_BYTES, size_of=_size_of_read)
def _stored_read(position: Position, entries: tuple[tuple[str, Node], ...]) -> ExpectedRead:
    """Return :func:`_read_entry` of an entry of scalars without the places of its keys, as it is stored.

    Many consumers of a contract read the same paths, and all that is stored has the same place.
    """
    return _read_entry(MappingNode(position, dict(entries), {}))


def _read_entry(node: MappingNode) -> ExpectedRead:
    entry = ValidMapping(block(node, what="an entry of reads", required=("path",), optional=_READ_KEYS))
    return _read_path(entry.node.entries["path"], entry)


def _read_path(node: Node, entry: ValidMapping) -> ExpectedRead:
    text = words(node, what="path")
    try:
        path = parse_path(text)
    except InvalidPath as mistake:
        raise refusal(str(mistake), node) from None
    logical, pattern, listed = entry.get("as"), entry.get("pattern"), entry.get("enum")
    if logical is not None and text_of(logical) not in LOGICAL_TYPES:
        raise refusal(f"as must be one of {', '.join(LOGICAL_TYPES)}, not {text_of(logical) or 'this'}", logical)
    return ExpectedRead(
        path=path,
        position=node.position,
        is_required=_own_flag(entry, "required"),
        type=None if logical is None else text_of(logical),
        range=ValueRange(_limit(entry, "min"), _limit(entry, "max")),
        pattern=None if pattern is None else pattern_of(pattern),
        enum=None if listed is None else tuple(_value(each) for each in items(listed, what="enum")),
        unit=entry.text("unit"),
        when_present=_own_flag(entry, "whenPresent"),
        places=entry.places,
    )


def _own_flag(entry: ValidMapping, key: str) -> bool:
    node = entry.get(key)
    return node is not None and flag(node, what=key)


def _limit(entry: ValidMapping, key: str) -> int | float | str | None:
    node = entry.get(key)
    if node is not None and (not isinstance(node, ScalarNode) or node.kind is YamlKind.BOOLEAN):
        raise refusal(f"{key} must be a number, or a date as text", node)
    return entry.limit(key)


def _value(node: Node) -> Scalar:
    if not isinstance(node, ScalarNode):
        raise refusal("a value of enum must be a text, a number, true or false", node)
    return node.text if node.kind is YamlKind.UNCLEAR else node.value


# Reading a contract or product file: YAML, valid under its standard, then as values.


def read_agreement(text: str, *, is_validated: bool = False) -> AgreementReading:
    """Return the contract or the application that a file declares, with every mistake in it and its place.

    ``is_validated``: the file is known to be valid under its standard, which is not checked again.

    >>> text = "{kind: DataContract, apiVersion: v3.1.0, id: a, version: 1.0.0, status: new, teams: 1}"
    >>> [f"{fault.position}: {fault.problem}" for fault in read_agreement(text).faults]
    ['1:78: the file has no key teams; did you mean team?']
    """
    try:
        root = read_yaml(text)
        if root is None:
            return AgreementReading(None, (AgreementFault(INVALID, "the file is empty", None),))
        standard = standard_of(root)
        if isinstance(standard, AgreementFault):
            return AgreementReading(None, (standard,))
        found = () if is_validated else violations(root, standard[1])
        return AgreementReading(None, found) if found else _agreement_of(root, standard[0])
    except InvalidDocument as mistake:
        return AgreementReading(None, (AgreementFault(INVALID, mistake.problem, mistake.position, mistake.repair),))


def read_if_valid(text: str) -> AgreementReading | None:
    """Return what :func:`read_agreement` does for a file that is valid under its standard; None for any other.

    To find the mistakes of a file may take a tenth of a second for each 10 kB.
    """
    try:
        root = read_yaml(text)
        standard = None if root is None else standard_of(root)
        if (
            root is None
            or standard is None
            or isinstance(standard, AgreementFault)
            or not is_quickly_valid(root, standard[1])
        ):
            return None
        return _agreement_of(root, standard[0])
    except InvalidDocument:
        return None


def _agreement_of(root: Node, standard: Standard) -> AgreementReading:
    faults = Faults()
    read = contract_of if standard is ODCS else application_of
    return AgreementReading(read(root, faults), tuple(faults.found))


# The identity of an agreement by content: equal where no verdict can differ.

_PROSE: Final = frozenset({"position", "places", "description", "status", "owner", "name", "version", "servers"})
"""What changes no verdict: places, texts for people, and where a contract is deployed."""
_NAMED: Final = frozenset({"HeaderPromise", "Expectation"})
"""The values whose name says what they are about."""
_UNSET: Final[Mapping[str, Mapping[Enum | None, str]]] = {
    "on_unknown_enum": {None: "fail", OnUnknownEnum.FAIL: "fail, written"}
}
"""Other texts of some values: in hashes that are stored, a port that does not say what it does counts as ``fail``."""


def content_hash(agreement: Agreement, *, fingerprints: Mapping[str, str] | None = None) -> str:
    """Return SHA-256, in hex, of the canonical JSON of the parts that affect a verdict.

    These are promises, expectations, rules, service levels and migrations, in any order of fields and reads, but not
    descriptions. ``fingerprints`` are those of the schemas, by the text with which a file refers to each.

    Release 0.2.0 did not count a zero, such as a minimum of 0, and took an empty list of reads for none. Such a file
    has another hash in a store of that release.
    """
    kind = "Contract" if isinstance(agreement, Contract) else "Application"  # the word of stored hashes, not the class
    content = {"kind": kind, **_plain(agreement), "schemas": dict(fingerprints or {})}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def part_hash(part: Expectation | Promise) -> str:
    """Return SHA-256, in hex, of a port's expectations or a topic's promises, without versions and texts for people."""
    text = json.dumps(_plain(part), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> Json:
    if is_dataclass(value):
        kind = type(value).__name__
        kept = (each for each in fields(value) if each.name not in _PROSE or (each.name == "name" and kind in _NAMED))
        parts = ((each, _shown_name(each.name, getattr(value, each.name))) for each in kept)
        return {each.name: _plain(found) for each, found in parts if not _is_unset(each, found)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return _listed(value)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value if isinstance(value, str | int | float | bool | list | None) else str(value)


def _shown_name(name: str, value: Json) -> Json:
    return _UNSET[name].get(value, value) if name in _UNSET else value


def _is_unset(member: Field[Any], value: object) -> bool:
    """Return whether a file does not state a member; an empty list is a statement where None is possible, too."""
    return value is None or value is False or (value == () and member.default is not None)


def _listed(value: tuple[Json, ...]) -> list[Json]:
    """Return a tuple as a list; the order of fields, reads, rules and the like has no meaning, that of steps has."""
    listed = [_plain(each) for each in value]
    is_ordered = any(isinstance(each, list) for each in listed)
    return listed if is_ordered else sorted(listed, key=lambda each: json.dumps(each, sort_keys=True))


# Contract files as a registry keeps them: their agreement, and the ports of a product as JSON.


def stored_agreement(text: str) -> Agreement | None:
    """Return the agreement of a file that was validated before, such as when it was stored."""
    return read_agreement(text, is_validated=True).agreement


def hash_of_file(text: str, schemas: Mapping[str, Schema]) -> str:
    """Return the hash of the content of a contract file that was validated, with its schemas."""
    agreement = stored_agreement(text)
    assert agreement is not None  # noqa: S101 - it is valid
    return hash_of_contract(agreement, schemas)


def ports_of(text: str) -> dict[str, list[Json]]:
    """Return the input ports of a product file as JSON, by the contract that they read."""
    root = read_yaml(text)
    found = {} if root is None else ports_by_contract(root)
    return {contract: [node_json(each) for each in ports] for contract, ports in found.items()}


def hash_of_contract(agreement: Agreement, schemas: Mapping[str, Schema]) -> str:
    """Return the hash of a contract's content with its schemas."""
    prints = {link: f"{each.schema_type}:{each.text}:{each.references}" for link, each in schemas.items()}
    return content_hash(agreement, fingerprints=prints)


def are_the_same(one: PublishedContract, other: PublishedContract) -> bool:
    """Return whether two contracts have the same content, whatever release computed the hashes with which they came."""
    if one.text == other.text and one.schemas == other.schemas:
        return True
    hashes = []
    for each in (one, other):
        agreement = stored_agreement(each.text)
        hashes.append(each.hash if agreement is None else hash_of_contract(agreement, each.schemas))
    return hashes[0] == hashes[1]
