"""Contract files (ODCS), product files (ODPS) and project files as YAML texts, and product files with more reads."""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import yaml

from counterfoil.contracts.lint.agreements import below
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.languages import TYPE_BY_SUFFIX, language_of, stem_of, subject_in_name
from counterfoil.contracts.values.fields import paths_of, properties_of
from counterfoil.schema.agreements import Agreement, Contract
from counterfoil.schema.agreements.documents import SCHEMA_TYPE
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.texts import counted

# Contract files (ODCS) and product files (ODPS) as YAML texts.


@dataclass(frozen=True, slots=True)
class ContractFacts:
    """The parts of a contract file besides its fields. ``schema_path`` is relative to the file, None without one."""

    id: str
    topic: str
    subject: str
    version: str = "1.0.0"
    owner: str | None = None
    schema_path: str | None = None


def contract_text(schema: ParsedSchema, facts: ContractFacts, *, has_fields: bool) -> str:
    """Return a contract file for a schema; its fields are listed with ``has_fields``, or if no file has them."""
    name = (schema.name or facts.topic).rpartition(".")[2]
    promise: JsonObject = {"name": name, "physicalName": facts.topic, "logicalType": "object"}
    if facts.schema_path is not None:
        promise["authoritativeDefinitions"] = [{"type": SCHEMA_TYPE, "url": facts.schema_path}]
    if facts.subject != f"{facts.topic}-value":
        promise["customProperties"] = [{"property": "subject", "value": facts.subject}]
    if has_fields or facts.schema_path is None:
        promise["properties"] = properties_of(schema)
    return yaml_text(
        {
            "apiVersion": "v3.2.0",
            "kind": "DataContract",
            "id": facts.id,
            "name": facts.id,
            "version": facts.version,
            "status": "draft",
            **({} if facts.owner is None else {"team": {"name": facts.owner}}),
            "schema": [promise],
        }
    )


@dataclass(frozen=True, slots=True)
class ConsumerFacts:
    """The parts of a product file besides its reads. ``contract_version`` is the major version that is read."""

    id: str
    contract_id: str
    contract_version: str = "1"
    version: str = "1.0.0"
    owner: str | None = None


def consumer_text(facts: ConsumerFacts, reads: Sequence[str]) -> str:
    """Return a product file with one input port that reads these paths."""
    port = {
        "name": facts.contract_id,
        "version": facts.contract_version,
        "contractId": facts.contract_id,
        "customProperties": [{"property": "reads", "value": list(reads)}],
    }
    return yaml_text(
        {
            "apiVersion": "v1.0.0",
            "kind": "DataProduct",
            "id": facts.id,
            "name": facts.id,
            "version": facts.version,
            "status": "draft",
            **({} if facts.owner is None else {"team": {"name": facts.owner}}),
            "inputPorts": [port],
        }
    )


def all_reads(schema: ParsedSchema | None) -> list[str]:
    """Return the paths of all fields; the whole record without a schema."""
    return ["*"] if schema is None else paths_of(schema)


def yaml_text(document: object) -> str:
    """Return a document as YAML, as people write it."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    """Writes lists with an indent, as people do, and no aliases."""

    def increase_indent(self, *options: Any, **named: Any) -> None:
        """Indent the items of lists, too."""
        super().increase_indent(*options[:1], **{**named, "indentless": False})

    def ignore_aliases(self, data: object) -> bool:
        """Return that everything is written where it is used."""
        del data
        return True


# The reads in a product file, completed without a change to anything else: comments and other keys stay.
#
# The text is edited at the places that PyYAML gives for its nodes.


class Uneditable(Exception):
    """A document whose form is not one that can be completed; ``problem`` is a sentence without its subject."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def with_reads(text: str, contract: str, version: str, paths: Sequence[str]) -> str:
    """Return the text of a product file in which the input port of a contract reads ``paths``, too.

    A port that is not there is added, for the major ``version`` of the contract. Raises ``Uneditable``.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise Uneditable("is no mapping")
    reads = {"property": "reads", "value": [*paths]}
    port = {"name": contract, "version": version, "contractId": contract, "customProperties": [reads]}
    ports = _entry_of(root, "inputPorts")
    if ports is None:
        return _with_key(text, root, "inputPorts", [port])
    for found in _items(ports):
        if not isinstance(found, yaml.MappingNode):
            continue
        named = _entry_of(found, "contractId")
        if isinstance(named, yaml.ScalarNode) and named.value == contract:
            return _in_port(text, found, reads)
    return _with_item(text, ports, port)


def _in_port(text: str, port: yaml.MappingNode, reads: JsonObject) -> str:
    own = _entry_of(port, "customProperties")
    if own is None:
        return _with_key(text, port, "customProperties", [reads])
    for found in _items(own):
        name = _entry_of(found, "property")
        value = _entry_of(found, "value")
        if isinstance(name, yaml.ScalarNode) and name.value == "reads" and value is not None:
            for path in reads["value"]:
                text = _with_item(text, value, path)
                value = _same(text, value)
            return text
    return _with_item(text, own, reads)


def _same(text: str, node: yaml.Node) -> yaml.Node:
    """Return the node at the same place after a change of the nodes behind it."""
    for found in _all(yaml.compose(text, Loader=yaml.SafeLoader) or node):
        if found.start_mark.index == node.start_mark.index and type(found) is type(node):
            return found
    raise Uneditable("cannot be read again")


def _all(node: yaml.Node) -> Sequence[yaml.Node]:
    inside = [each for pair in node.value for each in pair] if isinstance(node, yaml.MappingNode) else node.value
    parts = [] if isinstance(node, yaml.ScalarNode) else inside
    return [node, *(found for part in parts for found in _all(part))]


def _entry_of(node: yaml.Node, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _items(node: yaml.Node) -> Sequence[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _with_item(text: str, node: yaml.Node, item: object) -> str:
    """Return the text in which a list has one more item."""
    if not isinstance(node, yaml.SequenceNode):
        raise Uneditable(f"has no list in line {node.start_mark.line + 1}")
    if node.flow_style:
        return _in_brackets(text, node, json.dumps(item, ensure_ascii=False))
    return _below(text, node, yaml_text([item]))


def _with_key(text: str, node: yaml.CollectionNode, key: str, value: object) -> str:
    """Return the text in which a mapping has one more key."""
    if node.flow_style:
        return _in_brackets(text, node, f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return _below(text, node, yaml_text({key: value}))


def _in_brackets(text: str, node: yaml.Node, written: str) -> str:
    """Return the text with one more entry before a closing bracket, and before the comments in front of that."""
    tokens = yaml.scan(text, Loader=yaml.SafeLoader)
    *_, last = (each for each in tokens if each.end_mark.index < node.end_mark.index)
    match last:
        case yaml.FlowSequenceStartToken() | yaml.FlowMappingStartToken():
            separator = ""
        case yaml.FlowEntryToken():
            separator = " "
        case _:
            separator = ", "
    end = last.end_mark.index
    return f"{text[:end]}{separator}{written}{text[end:]}"


def _below(text: str, node: yaml.Node, written: str) -> str:
    """Return the text with lines after the last one of a block, at its indent."""
    lines = text.splitlines(keepends=True)
    last = _last_line(node)
    if not lines[last].endswith("\n"):
        lines[last] += "\n"
    indent = " " * node.start_mark.column
    lines[last + 1 : last + 1] = [f"{indent}{line}" for line in written.splitlines(keepends=True)]
    return "".join(lines)


def _last_line(node: yaml.Node) -> int:
    """Return the number of the last line of a node, without the comments that follow it."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        end = node.end_mark
        return int(end.line - 1 if end.column == 0 and end.line > node.start_mark.line else end.line)
    last = node.value[-1]
    return _last_line(last[1] if isinstance(node, yaml.MappingNode) else last)


# The project file ``counterfoil.yaml`` for the schema files that a repository has, with the reasons as comments.


@dataclass(frozen=True, slots=True)
class FoundSchemas:
    """The contents of a repository: its schema files, and the subjects that contracts give them.

    ``parts`` has the files that other schema files refer to, and that no contract names.
    """

    schemas: tuple[str, ...]
    subject_by_path: Mapping[str, str]
    parts: frozenset[str]

    def below(self, folder: str) -> FoundSchemas:
        """Return the contents of a folder, with paths relative to it."""
        if not folder:
            return self
        start = f"{folder}/"

        def inside(paths: Iterable[str]) -> Iterator[str]:
            return (path.removeprefix(start) for path in paths if path.startswith(start))

        subjects = {path: subject for path, subject in self.subject_by_path.items() if path.startswith(start)}
        return FoundSchemas(
            tuple(inside(self.schemas)),
            {path.removeprefix(start): subject for path, subject in subjects.items()},
            frozenset(inside(self.parts)),
        )


class ProjectLine(NamedTuple):
    """One entry of ``schemas`` with the comment above it; ``is_guess``: nothing but its name says the subject."""

    files: tuple[str, ...]
    comment: str
    subject: str | None = None
    is_part: bool = False
    is_guess: bool = False


def look(tree: SchemaTree, agreements: Mapping[str, Agreement | None], *, others: Iterable[str] = ()) -> FoundSchemas:
    """Return the contents of a repository; ``agreements`` are contract and product files by path, None: an invalid one.

    ``others`` are schema files whose names do not show that they are. So are those that contracts refer to.
    """
    subjects: dict[str, str] = {}
    referred = {target for path in tree.paths for target in tree.referred(path).values()}
    for path, agreement in agreements.items():
        if isinstance(agreement, Contract):
            for promise in agreement.promises:
                subjects.update({below(path, promise.schema.url): promise.subject} if promise.schema else {})
                if promise.key is not None and promise.key.schema is not None:
                    subjects[below(path, promise.key.schema.url)] = promise.key.subject or f"{promise.topic}-key"
        elif agreement is not None:
            links = (each.reader_schema for each in agreement.expectations)
            referred |= {below(path, link.url) for link in links if link is not None}
    linked = {path for path in (*subjects, *referred) if tree.has(path, language_of(path))}
    schemas = tuple(sorted({*tree.paths, *others, *linked}))
    known_parts = (path for path in schemas if path in referred and path not in subjects)
    parts = frozenset(path for path in known_parts if subject_in_name(path) is None)
    known = {path: subject for path, subject in subjects.items() if path in schemas}
    return FoundSchemas(schemas, known, parts)


def lines_of(found: FoundSchemas) -> list[ProjectLine]:
    """Return the entries: files with a subject of their own, parts, then one entry for each folder and language."""
    lines = [
        ProjectLine((path,), "The subject is that of its contract.", subject)
        for path, subject in found.subject_by_path.items()
        if subject != subject_in_name(path)
    ]
    parts = sorted(found.parts)
    if parts:
        lines.append(ProjectLine(tuple(parts), "Other files refer to these, so they have no subject.", is_part=True))
    lines += _lines_of_rivals(found, {path for line in lines for path in line.files})
    mapped = {path for line in lines for path in line.files}
    rest = sorted((path for path in found.schemas if path not in mapped), key=_place)
    for (folder, suffix), group in groupby(rest, key=_place):
        lines += _folder_lines(posixpath.join(folder, f"*{suffix}") if suffix else None, list(group))
    return lines


def _lines_of_rivals(found: FoundSchemas, mapped: set[str]) -> list[ProjectLine]:
    """Return an entry for each file whose subject by its name another file has as well."""
    taken = Counter(found.subject_by_path.values())
    guesses = {path: _guess(path) for path in found.schemas if path not in mapped and path not in found.subject_by_path}
    number = taken + Counter(guesses.values())
    rivals = [path for path, guess in guesses.items() if number[guess] > 1]
    dotted = {path: _guess(path.replace("/", ".")) for path in rivals}
    times = number + Counter(each for path, each in dotted.items() if each != guesses[path])
    comment = "The subject is a guess: other files have the same name."
    return [
        ProjectLine((path,), comment, each if times[each] == 1 else f"{path.replace('/', '.')}-value", is_guess=True)
        for path, each in dotted.items()
    ]


def _guess(path: str) -> str:
    return subject_in_name(path) or f"{stem_of(path)}-value"


def _place(path: str) -> tuple[str, str]:
    suffix = next((each for each in TYPE_BY_SUFFIX if path.endswith(each)), "")
    return posixpath.dirname(path), suffix


def _folder_lines(glob: str | None, paths: list[str]) -> list[ProjectLine]:
    """Return the entries for the files of a folder; without a ``glob`` they are named one by one."""
    named = [path for path in paths if subject_in_name(path) is not None]
    unnamed = [path for path in paths if path not in named]
    lines = []
    if named:
        lines.append(
            ProjectLine(
                (glob,) if glob is not None and not unnamed else tuple(named),
                f"{counted(len(named), 'file')} named after the subject, which ends in -key or -value.",
            )
        )
    if unnamed:
        comment = f"{counted(len(unnamed), 'file')}; the subject is a guess: the topic may have another name."
        lines.append(
            ProjectLine((glob,) if glob is not None else tuple(unnamed), comment, "{stem}-value", is_guess=True)
        )
    return lines


def project_text(found: FoundSchemas, *, registry: str | None = None, owner: str | None = None) -> str:
    """Return the text of the project file."""
    lines = [
        "# counterfoil.yaml: which schema file belongs to which subject, and how its changes are checked.",
        "# The commands of counterfoil read it. Paths are relative to its folder; * is any name, ** any folders.",
        "",
        "# What a change must keep; an entry of schemas may have a level of its own. Without it: the registry's level,",
        "# and BACKWARD (new readers read old records) where nothing else is known.",
        "# level: BACKWARD",
        "# The least severity that makes a check fail: error, warning or never.",
        "fail-on: error",
        *_setting("owner", owner, "The team that is responsible.", example="my-team"),
        *_setting("registry", registry, "The registry that has the subjects.", example="http://localhost:8081"),
        "",
        "# The first entry that matches a file counts. A file that no entry matches fails a check against a registry.",
        "# In a subject, {stem} is the file's name without suffix, {name} the schema's full name, {folder} its folder.",
        "schemas:",
        *(text for line in lines_of(found) for text in _project_entry(line)),
        "",
        "# Rules whose findings are not reported, each with the reason, and single findings that someone answers for:",
        "# ignore:",
        "#   - {rule: schema-removed, files: legacy/, reason: the topics are retired}",
        "# accepted:",
        "#   - {fingerprint: 3f9a1c07be12, owner: my-team, reason: no consumer reads it, until: 2027-03-31}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _setting(key: str, value: str | None, comment: str, *, example: str) -> Iterable[str]:
    yield f"# {comment}"
    yield f"# {key}: {example}" if value is None else f"{key}: {_quoted(value)}"


def _project_entry(line: ProjectLine) -> Iterable[str]:
    yield f"  # {line.comment}"
    if len(line.files) == 1:
        yield f"  - files: {_quoted(line.files[0])}"
    else:
        yield "  - files:"
        yield from (f"      - {_quoted(path)}" for path in line.files)
    if line.is_part:
        yield "    part: true"
    if line.subject is not None:
        yield f"    subject: {_quoted(line.subject)}"


def _quoted(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))
