"""The project file: YAML, read with the place of every mistake.

::

    project   = [ level ] [ policy ] [ fail-on ] [ owner ] [ registry ] [ gate ]     # of all files
                [ managed-by ] [ schemas ] [ contracts ] [ consumers ] [ ignore ] [ accepted ]
    schemas   = [ { files: globs, [ subject: subjects | part: true ], [ terms ], [ level ], [ policy ], [ fail-on ],
                    [ owner ], [ registry ], [ gate ], [ mode ], [ aliases: [ subject, ... ] ],
                    [ associations: [ { topic, namespace, id, [ type ], [ lifecycle ] }, ... ] ] }, ... ]
    subjects  = subject | [ subject | { name: subject, [ terms ] }, ... ]
    terms     = [ normalize: true | false ], [ metadata: { [ properties ], [ tags ], [ sensitive ] } ]
    contracts = globs
    consumers = globs
    ignore    = [ { rule, reason, [ files: globs ] }, ... ]
    accepted  = [ { fingerprint, owner, reason, until: YYYY-MM-DD, [ migration: path ] }, ... ]
    globs     = glob | [ glob, ... ]

The first entry of ``schemas`` that matches a file is the one that counts; no glob may be in two of them.
:mod:`.editors` has the same grammar as a JSON schema.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.model import FailOn, Gate
from counterfoil.contracts.project.associations import TopicAssociation
from counterfoil.contracts.project.model import (
    PLACEHOLDER,
    PLACEHOLDERS,
    AcceptedFinding,
    DeclaredSubject,
    IgnoredRule,
    Project,
    SchemaLine,
    Settings,
    Terms,
)
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.documents.blocks import (
    address,
    block,
    choice,
    day,
    flag,
    items,
    likely,
    refusal,
    text_of,
    words,
)
from counterfoil.schema.documents.nodes import InvalidDocument, Kind, ListNode, MappingNode
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.model import Metadata
from counterfoil.schema.rest.associations import AssociationType, Lifecycle
from counterfoil.schema.rest.modes import Mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.documents.nodes import Node

TERMS: Final = ("normalize", "metadata")
METADATA: Final = ("properties", "tags", "sensitive")
SETTINGS: Final = ("level", "policy", "fail-on", "owner", "registry", "gate")
FINGERPRINT_PATTERN: Final = "[0-9a-f]{12}"
_FINGERPRINT: Final = re.compile(FINGERPRINT_PATTERN)


def read_project(text: str) -> Project:
    """Return the project that a YAML ``text`` declares; raise ``InvalidDocument`` with the position of a mistake."""
    root = read_yaml(text)
    if root is None:
        raise InvalidDocument("the file is empty; it needs schemas, a list of files with their subjects")
    top = block(
        root,
        what="the project",
        optional=(*SETTINGS, "managed-by", "schemas", "contracts", "consumers", "ignore", "accepted"),
    )
    accepted = tuple(accepted_finding(each, what="an entry of accepted") for each in _listed(top, "accepted"))
    seen: set[str] = set()
    for each in accepted:
        if each.fingerprint in seen:
            raise InvalidDocument(f"{each.fingerprint} is accepted twice; keep one of the entries", each.position)
        seen.add(each.fingerprint)
    return Project(
        settings=_settings(top),
        schemas=_schema_lines(_listed(top, "schemas")),
        contracts=_globs(top.entries["contracts"], "contracts") if "contracts" in top.entries else (),
        ignored=tuple(_ignored(each) for each in _listed(top, "ignore")),
        accepted=accepted,
        consumers=_globs(top.entries["consumers"], "consumers") if "consumers" in top.entries else (),
        managed_by=words(top.entries["managed-by"], what="managed-by") if "managed-by" in top.entries else None,
    )


def _listed(top: MappingNode, key: str) -> tuple[Node, ...]:
    node = top.entries.get(key)
    return () if node is None or node.kind is Kind.NULL else items(node, what=key)


def _settings(entry: MappingNode) -> Settings:
    given = entry.entries
    return Settings(
        level=choice(given["level"], CompatibilityLevel, what="level", folded=True) if "level" in given else None,
        policy=choice(given["policy"], CompatibilityPolicy, what="policy", folded=True) if "policy" in given else None,
        fail_on=choice(given["fail-on"], FailOn, what="fail-on") if "fail-on" in given else None,
        owner=words(given["owner"], what="owner") if "owner" in given else None,
        registry=address(given["registry"], what="registry") if "registry" in given else None,
        gate=choice(given["gate"], Gate, what="gate") if "gate" in given else None,
    )


def _schema_lines(nodes: Iterable[Node]) -> tuple[SchemaLine, ...]:
    """Return the entries of ``schemas``; raise ``InvalidDocument`` for a glob that is in two of them."""
    lines = tuple(_schema_line(each) for each in nodes)
    line_by_glob: dict[str, SchemaLine] = {}
    for line in lines:
        for glob in line.files:
            other = line_by_glob.setdefault(glob, line)
            if other is not line:
                raise InvalidDocument(
                    f"{glob} is in the entry at {other.position} already, so this one would have no effect; a file "
                    "with several subjects has a list of them in one entry",
                    line.position,
                )
    return lines


def _schema_line(node: Node) -> SchemaLine:
    entry = block(
        node,
        what="an entry of schemas",
        required=("files",),
        optional=("subject", "part", "mode", "aliases", "associations", *TERMS, *SETTINGS),
    )
    is_part = "part" in entry.entries and flag(entry.entries["part"], what="part")
    subject = entry.entries.get("subject")
    if is_part and subject is not None:
        raise refusal("files that are parts of other schemas have no subject; remove subject or part", subject)
    return SchemaLine(
        files=_globs(entry.entries["files"], "files"),
        settings=_settings(entry),
        position=entry.position,
        subjects=() if subject is None else _subjects(subject),
        terms=_terms(entry),
        is_part=is_part,
        mode=choice(entry.entries["mode"], Mode, what="mode", folded=True) if "mode" in entry.entries else None,
        aliases=tuple(words(each, what="an alias") for each in _of_one_subject(entry, "aliases")),
        associations=tuple(_association(each) for each in _of_one_subject(entry, "associations")),
    )


def _of_one_subject(entry: MappingNode, key: str) -> tuple[Node, ...]:
    """Return the items of a list that is about one subject, which the entry must name."""
    node = entry.entries.get(key)
    if node is None:
        return ()
    subject = entry.entries.get("subject")
    one = subject.items[0] if isinstance(subject, ListNode) and len(subject.items) == 1 else subject
    one = one.entries.get("name") if isinstance(one, MappingNode) else one
    if one is None or not text_of(one) or PLACEHOLDER.search(text_of(one)):
        raise refusal(f"{key} are of one subject, so the entry needs one subject, without placeholders", node)
    return items(node, what=key)


def _association(node: Node) -> TopicAssociation:
    entry = block(
        node, what="an association", required=("topic", "namespace", "id"), optional=("type", "lifecycle")
    ).entries
    topic, namespace, identity = (words(entry[key], what=key) for key in ("topic", "namespace", "id"))
    made = TopicAssociation(topic, namespace, identity)
    if "type" in entry:
        made = replace(made, type=choice(entry["type"], AssociationType, what="type"))
    if "lifecycle" in entry:
        made = replace(made, lifecycle=choice(entry["lifecycle"], Lifecycle, what="lifecycle", folded=True))
    return made


def _subjects(node: Node) -> tuple[DeclaredSubject, ...]:
    """Return the subjects of an entry: one, or a list of them, each of which may have terms of its own."""
    if not isinstance(node, ListNode):
        return (DeclaredSubject(_subject(node)),)
    if not node.items:
        raise refusal("subject must name at least one subject", node)
    found: dict[str, DeclaredSubject] = {}
    for each in node.items:
        declared = _declared_subject(each)
        if declared.template in found:
            raise refusal(f"{declared.template} is in the list twice; keep one of them", each)
        found[declared.template] = declared
    return tuple(found.values())


def _declared_subject(node: Node) -> DeclaredSubject:
    if not isinstance(node, MappingNode):
        return DeclaredSubject(_subject(node))
    entry = block(node, what="a subject", required=("name",), optional=TERMS)
    return DeclaredSubject(_subject(entry.entries["name"]), _terms(entry))


def _terms(entry: MappingNode) -> Terms:
    given = entry.entries
    return Terms(
        normalize=flag(given["normalize"], what="normalize") if "normalize" in given else None,
        metadata=_metadata(given["metadata"]) if "metadata" in given else None,
    )


def _metadata(node: Node) -> Metadata:
    given = block(node, what="metadata", optional=METADATA).entries
    properties, tags = (_members(given[key], key) if key in given else {} for key in ("properties", "tags"))
    return Metadata(
        tags={
            path: tuple(words(each, what="a tag") for each in items(node, what=f"tags of {path}"))
            for path, node in tags.items()
        },
        properties={name: words(each, what=f"property {name}") for name, each in properties.items()},
        sensitive=tuple(words(each, what="sensitive") for each in items(given["sensitive"], what="sensitive"))
        if "sensitive" in given
        else (),
    )


def _members(node: Node, what: str) -> Mapping[str, Node]:
    if not isinstance(node, MappingNode):
        raise refusal(f"{what} must be a mapping of names to values", node)
    return node.entries


def _subject(node: Node) -> str:
    text = words(node, what="subject")
    for word in PLACEHOLDER.findall(text):
        if word not in PLACEHOLDERS:
            raise refusal(f"subject has no placeholder {{{word}}}; {likely(word, PLACEHOLDERS)}", node)
    return text


def _globs(node: Node, what: str) -> tuple[str, ...]:
    each = node.items if isinstance(node, ListNode) else (node,)
    if not each:
        raise refusal(f"{what} must name at least one file or glob", node)
    return tuple(_glob(one, what) for one in each)


def _glob(node: Node, what: str) -> str:
    glob = words(node, what=what)
    if glob.startswith("/") or ".." in glob.split("/") or "\\" in glob:
        raise refusal(
            f"{what} must be relative to the folder of this file, with / between folders and without .., not {glob!r}",
            node,
        )
    return glob.removeprefix("./")


def _ignored(node: Node) -> IgnoredRule:
    entry = block(node, what="an entry of ignore", required=("rule", "reason"), optional=("files",))
    return IgnoredRule(
        rule=words(entry.entries["rule"], what="rule"),
        reason=words(entry.entries["reason"], what="reason"),
        position=entry.position,
        files=_globs(entry.entries["files"], "files") if "files" in entry.entries else (),
    )


def accepted_finding(node: Node, *, what: str, also: Iterable[str] = ()) -> AcceptedFinding:
    """Return the accepted finding in a mapping, which may also have the keys ``also``."""
    entry = block(node, what=what, required=("fingerprint", "owner", "reason", "until"), optional=("migration", *also))
    fingerprint = text_of(entry.entries["fingerprint"])
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise refusal(
            "fingerprint must be the 12 hex digits that a report shows behind a finding", entry.entries["fingerprint"]
        )
    return AcceptedFinding(
        fingerprint=fingerprint,
        owner=words(entry.entries["owner"], what="owner"),
        reason=words(entry.entries["reason"], what="reason"),
        until=day(entry.entries["until"], what="until"),
        position=entry.position,
        migration=words(entry.entries["migration"], what="migration") if "migration" in entry.entries else "",
    )
