"""The grammar of the project file and of the file of approvals: YAML, read with the place of every mistake.

The project file::

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
:func:`project_json_schema` has the same grammar as a JSON schema.

The file of approvals, which is printed as well::

    approvals = [ { fingerprint, reason, owner, until: YYYY-MM-DD, [ migration: path ],
                    [ rule ], [ subject ], [ path ], [ text ] }, ... ]

``rule``, ``subject``, ``path`` and ``text`` say to people which finding the fingerprint is of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.contracts.findings import CheckGate, FailOn
from counterfoil.contracts.project.associations import TopicAssociation
from counterfoil.contracts.project.model import (
    PLACEHOLDER,
    PLACEHOLDERS,
    AcceptedFinding,
    DeclaredSubject,
    IgnoredRule,
    Project,
    ProjectSettings,
    SchemaLine,
    SubjectTerms,
)
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.documents import (
    InvalidDocument,
    ListNode,
    MappingNode,
    Node,
    YamlKind,
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
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.model import Metadata
from counterfoil.schema.rest.subjects import AssociationType, Lifecycle, Mode

# The project file: YAML, read with the place of every mistake.

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
    return () if node is None or node.kind is YamlKind.NULL else items(node, what=key)


def _settings(entry: MappingNode) -> ProjectSettings:
    given = entry.entries
    return ProjectSettings(
        level=choice(given["level"], CompatibilityLevel, what="level", folded=True) if "level" in given else None,
        policy=choice(given["policy"], CompatibilityPolicy, what="policy", folded=True) if "policy" in given else None,
        fail_on=choice(given["fail-on"], FailOn, what="fail-on") if "fail-on" in given else None,
        owner=words(given["owner"], what="owner") if "owner" in given else None,
        registry=address(given["registry"], what="registry") if "registry" in given else None,
        gate=choice(given["gate"], CheckGate, what="gate") if "gate" in given else None,
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


def _terms(entry: MappingNode) -> SubjectTerms:
    given = entry.entries
    return SubjectTerms(
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


# The file of approvals: YAML, read with the place of every mistake, and printed.

_ABOUT: Final = ("rule", "subject", "path", "text")
_HEADER: Final = "# Findings that are accepted until a day. `counterfoil approve` writes it and keeps no comments."


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """An accepted finding, and its facts for people: ``rule``, ``subject``, ``path``, ``text``."""

    accepted: AcceptedFinding
    rule: str = ""
    subject: str = ""
    path: str = ""
    text: str = ""


def read_approvals(text: str) -> tuple[ApprovalRecord, ...]:
    """Return the approvals in a YAML ``text``; raise ``InvalidDocument`` with the position of a mistake."""
    root = read_yaml(text)
    if root is None:
        return ()
    top = block(root, what="the file of approvals", required=("approvals",))
    found: dict[str, ApprovalRecord] = {}
    for node in items(top.entries["approvals"], what="approvals"):
        accepted = accepted_finding(node, what="an approval", also=_ABOUT)
        if accepted.fingerprint in found:
            raise InvalidDocument(f"{accepted.fingerprint} is approved twice; keep one of the entries", node.position)
        entries = node.entries if isinstance(node, MappingNode) else {}
        about = {name: text_of(entries[name]) for name in _ABOUT if name in entries}
        found[accepted.fingerprint] = ApprovalRecord(accepted, **about)
    return tuple(found.values())


def print_approvals(records: Iterable[ApprovalRecord]) -> str:
    """Return the text of the file with these approvals."""
    lines = [line for record in records for line in _lines(record)]
    return "".join(f"{line}\n" for line in (_HEADER, "approvals:" if lines else "approvals: []", *lines))


def _lines(record: ApprovalRecord) -> Iterator[str]:
    accepted = record.accepted
    yield f"  - fingerprint: {_quoted(accepted.fingerprint)}"
    facts = {name: getattr(record, name) for name in _ABOUT}
    facts |= {"reason": accepted.reason, "owner": accepted.owner, "until": accepted.until.isoformat()}
    facts |= {"migration": accepted.migration}
    yield from (f"    {name}: {_quoted(value)}" for name, value in facts.items() if value)


def _quoted(text: str) -> str:
    """Return the text as JSON, which is YAML, too."""
    return json.dumps(text)


# The grammar of project files as a JSON schema, for editors: completion, and marks at mistakes.


def project_json_schema() -> JsonObject:
    """Return the JSON schema (draft 2020-12) of ``counterfoil.yaml``.

    >>> sorted(project_json_schema()["properties"])[:4]
    ['accepted', 'consumers', 'contracts', 'fail-on']
    """
    text = {"type": "string", "minLength": 1}
    glob = {"type": "string", "pattern": r"^(?!/)(?!(.*/)?\.\.(/|$))[^\\]+$"}
    globs = {"anyOf": [glob, {"type": "array", "items": glob, "minItems": 1}]}
    settings = {
        "level": _one_of(CompatibilityLevel, "The compatibility that a change must keep."),
        "policy": _one_of(CompatibilityPolicy, "Which differences are breaking."),
        "fail-on": _one_of(FailOn, "The least severity that makes a check fail."),
        "owner": {**text, "description": "The team that is responsible for the files."},
        "registry": {"type": "string", "pattern": "^https?://", "description": "The address of the registry."},
        "gate": _one_of(CheckGate, "Whether the compatibility level, the consumers, or neither makes a check fail."),
    }
    subject = {"type": "string", "pattern": r"^([^{}]|\{(stem|name|folder)\})+$"}
    terms = {
        "normalize": {"type": "boolean", "description": "Whether the registry normalizes the schemas."},
        "metadata": _metadata_schema(text),
    }
    line = {
        "files": {
            **globs,
            "description": "Globs, relative to the folder of this file; the first entry that matches counts.",
        },
        "subject": {
            "anyOf": [
                subject,
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [subject, _closed({"name": subject, **terms}, "name")]},
                },
            ],
            "description": "The subject, or a list of subjects; {stem} is the file's name without suffix, {name} the "
            "schema's full name, {folder} the name of the file's folder. Without it, the stem if it ends in -key or "
            "-value.",
        },
        **terms,
        "mode": _one_of(Mode, "The mode of the subject, which counterfoil plan sets."),
        "aliases": {
            "type": "array",
            "items": text,
            "description": "Other names of a subject without placeholders, which counterfoil plan sets.",
        },
        "associations": _list(
            _closed(
                {
                    **dict.fromkeys(("topic", "namespace", "id"), text),
                    "type": _one_of(AssociationType, "The part of the records; default value."),
                    "lifecycle": _one_of(Lifecycle, "STRONG: the subject belongs to the topic; default WEAK."),
                },
                "topic",
                "namespace",
                "id",
            ),
            "Topics with which a subject without placeholders is associated by counterfoil plan.",
        ),
        "part": {"type": "boolean", "description": "The files have no subject: other schemas refer to them."},
        **settings,
    }
    ignored = {"rule": text, "reason": text, "files": globs}
    accepted = {
        "fingerprint": {"type": "string", "pattern": f"^{FINGERPRINT_PATTERN}$"},
        "owner": text,
        "reason": text,
        "until": {"type": "string", "format": "date", "description": "The last day on which the finding is accepted."},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A project of schemas and contracts: counterfoil.yaml",
        **_closed(
            {
                **settings,
                "managed-by": {
                    **text,
                    "description": "The name of this project, by which counterfoil plan marks the subjects it owns.",
                },
                "schemas": _list(_closed(line, "files"), "Which files belong to which subject."),
                "contracts": {**globs, "description": "The contract files of the project (ODCS, ODPS)."},
                "consumers": {
                    **globs,
                    "description": "The product files (ODPS) whose reads counterfoil check compares with contracts.",
                },
                "ignore": _list(_closed(ignored, "rule", "reason"), "Rules whose findings are not reported."),
                "accepted": _list(
                    _closed({**accepted, "migration": {**text, "description": "A converter's file."}}, *accepted),
                    "Single findings that someone answers for.",
                ),
            }
        ),
    }


def _metadata_schema(text: JsonObject) -> JsonObject:
    tags = {"type": "object", "additionalProperties": {"type": "array", "items": text}}
    return {
        **_closed(
            {
                "properties": {"type": "object", "additionalProperties": text},
                "tags": tags,
                "sensitive": {"type": "array", "items": text},
            }
        ),
        "description": "The metadata that the registered schemas have at least.",
    }


def _one_of(choices: Iterable[object], description: str) -> JsonObject:
    return {"enum": [str(each) for each in choices], "description": description}


def _list(item: JsonObject, description: str) -> JsonObject:
    return {"type": "array", "items": item, "description": description}


def _closed(properties: JsonObject, *required: str) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
