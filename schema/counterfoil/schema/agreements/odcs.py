"""Contracts from ODCS documents that are valid under the standard.

Source: Open Data Contract Standard 3.1.0 and 3.2.0. Ours are these properties in ``customProperties``:

==================  =========================  ================================================================
``subject``         of an entry of ``schema``  the registry's subject; default ``<physicalName>-value``
``compatibility``   of an entry of ``schema``  the level that the subject is to have
``messageKey``      of an entry of ``schema``  ``{subject, field, schema}`` of the records' keys
``headers``         of an entry of ``schema``  a list of ``{name, required, pattern}``
``unit``            of a property              a UCUM code, or a currency such as ``EUR`` or ``EUR.cent``
``enumPolicy``      of a property              ``open`` or ``closed``
``registry``        of a server                the address of the registry
``migration``       of the document            a list of ``{from, to, converter, sunset}``
==================  =========================  ================================================================
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.schema.agreements.fields import Entry, Faults
from counterfoil.schema.agreements.model import (
    Contract,
    EnumPolicy,
    EnumValue,
    FieldPromise,
    HeaderPromise,
    KeyPromise,
    Migration,
    Promise,
    QualityRule,
    Range,
    SchemaLink,
    Server,
    ServiceLevel,
)
from counterfoil.schema.agreements.patterns import pattern_of
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.documents.blocks import address, block, choice, day, items, text_of, words
from counterfoil.schema.paths.model import ITEMS, VALUES, member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.documents.nodes import Node
    from counterfoil.schema.paths.model import FieldPath

_TOPIC: Final = "physicalName"
SCHEMA_TYPE: Final = "schema"
"""The type of the authoritative definition that names the schema file."""


def contract_of(root: Node, faults: Faults) -> Contract:
    """Return the contract that a valid document declares; mistakes in our own properties are added to ``faults``."""
    top = Entry.of(root)
    own = top.custom()
    return Contract(
        id=top.text("id") or "",
        version=top.text("version") or "",
        status=top.text("status"),
        position=root.position,
        name=top.text("name"),
        owner=Entry.of(team).text("name") if (team := top.get("team")) is not None else None,
        promises=tuple(_promise(each, faults) for each in top.entries("schema")),
        service_levels=tuple(_service_level(each) for each in top.entries("slaProperties")),
        servers=tuple(_server(each, faults) for each in top.entries("servers")),
        migrations=faults.value(own, "migration", _migrations, ()),
        description={key: str(text) for key, text in top.plain("description").items() if isinstance(text, str)},
        places=top.places,
    )


def _promise(entry: Entry, faults: Faults) -> Promise:
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


def _named(entry: Entry) -> Iterator[tuple[str, Node]]:
    """Yield the key that names the topic, if there is one."""
    node = entry.get(_TOPIC)
    if node is not None:
        yield _TOPIC, node


def _schema_link(entry: Entry) -> SchemaLink | None:
    for each in entry.entries("authoritativeDefinitions"):
        url = each.get("url")
        if each.text("type") == SCHEMA_TYPE and url is not None:
            return SchemaLink(text_of(url), url.position)
    return None


def _fields(entry: Entry, around: FieldPath, faults: Faults) -> Iterator[tuple[FieldPromise, tuple[QualityRule, ...]]]:
    """Yield the promises about a property and those inside it, each with its quality rules."""
    path = (*around, member(entry.text("physicalName") or entry.text("name") or ""))
    yield _field(entry, path, faults), tuple(_quality(entry, path))
    yield from _inside(entry, path, faults)


def _inside(entry: Entry, path: FieldPath, faults: Faults) -> Iterator[tuple[FieldPromise, tuple[QualityRule, ...]]]:
    for each in entry.entries("properties"):
        yield from _fields(each, path, faults)
    parts = [(entry.get("items"), ITEMS)]
    if (mapping := entry.get("map")) is not None:
        parts.append((Entry.of(mapping).get("value"), VALUES))
    for node, step in parts:
        if node is not None:
            part = Entry.of(node)
            yield _field(part, (*path, step), faults), tuple(_quality(part, (*path, step)))
            yield from _inside(part, (*path, step), faults)


def _field(entry: Entry, path: FieldPath, faults: Faults) -> FieldPromise:
    own = entry.custom()
    options = Entry.of(found) if (found := entry.get("logicalTypeOptions")) is not None else Entry.of(entry.node)
    has_options = found is not None
    pattern = options.get("pattern") if has_options else None
    read_policy = partial(choice, choices=EnumPolicy, what="enumPolicy")
    return FieldPromise(
        path=path,
        position=entry.node.position,
        logical_type=entry.text("logicalType"),
        is_required=entry.flag("required"),
        is_unique=entry.flag("unique"),
        range=_range(options) if has_options else Range(),
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


def _range(options: Entry) -> Range:
    """Return the limits; of a limit and an excluded one on the same side, the excluded one counts if it is given."""
    low, high = options.limit("exclusiveMinimum"), options.limit("exclusiveMaximum")
    return Range(
        options.limit("minimum") if low is None else low,
        options.limit("maximum") if high is None else high,
        is_open_below=low is not None,
        is_open_above=high is not None,
    )


def _enum(entry: Entry) -> tuple[EnumValue, ...]:
    return tuple(
        EnumValue(each.scalar("value"), each.text("description") or "", each.node.position)
        for each in entry.entries("enum")
    )


def _quality(entry: Entry, path: FieldPath) -> Iterator[QualityRule]:
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
    entry = Entry(block(node, what="messageKey", optional=("subject", "field", "schema")))
    schema = entry.get("schema")
    link = None if schema is None else SchemaLink(words(schema, what="schema"), schema.position)
    return KeyPromise(entry.text("subject"), entry.text("field"), link)


def _headers(node: Node) -> tuple[HeaderPromise, ...]:
    return tuple(_header(each) for each in items(node, what="headers"))


def _header(node: Node) -> HeaderPromise:
    entry = Entry(block(node, what="a header", required=("name",), optional=("required", "pattern")))
    pattern = entry.get("pattern")
    return HeaderPromise(
        words(entry.node.entries["name"], what="name"),
        entry.flag("required"),
        None if pattern is None else pattern_of(pattern),
    )


def _service_level(entry: Entry) -> ServiceLevel:
    element = entry.get("element")
    return ServiceLevel(
        entry.text("property") or "",
        entry.scalar("value"),
        entry.text("unit"),
        entry.text("element"),
        entry.node.position if element is None else element.position,
    )


def _server(entry: Entry, faults: Faults) -> Server:
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
