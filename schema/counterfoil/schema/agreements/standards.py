"""The standards ODCS and ODPS: their JSON Schemas, mistakes with places, typed values of valid mappings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import islice
from typing import Final, Protocol, TypeAlias, TypeVar

from counterfoil.schema.agreements import AgreementFault, Scalar
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.documents import (
    InvalidDocument,
    ListNode,
    MappingNode,
    Node,
    Repair,
    ScalarNode,
    YamlKind,
    likely,
    plain_value,
    refusal,
    respelled,
    text_of,
    words,
)
from counterfoil.schema.texts import Position, excerpt

# The errors of the package jsonschema as mistakes with a place in the document and a sentence of ours.

INVALID: Final = "document-invalid"
"""The rule that a document is valid under its standard."""
_CLOSING: Final = ("additionalProperties", "unevaluatedProperties")
_CHOICES: Final = ("oneOf", "anyOf")


class StandardViolation(Protocol):
    """An error of the package jsonschema, as far as it is used here."""

    validator: Json
    validator_value: Json
    instance: Json
    schema: Json
    context: Json
    path: Json
    absolute_path: Json
    schema_path: Json
    message: str


_MAX_SHOWN: Final = 60
_TYPE_WORDS: Final = {
    "string": "a text (in quotes where it looks like a number)",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}

_SENTENCES: Final = {
    "minItems": "must have at least {limit} items",
    "maxItems": "must have at most {limit} items",
    "uniqueItems": "must not have an item twice",
    "minimum": "must be at least {limit}, not {value}",
    "maximum": "must be at most {limit}, not {value}",
    "const": "must be {limit}, not {value}",
    "pattern": "must match {limit}, unlike {value}",
    "not": "may not be {value} here",
}


def faults_of(errors: Sequence[StandardViolation], root: Node, schema: JsonObject) -> Iterator[AgreementFault]:
    """Yield the mistakes that ``errors`` are about, the most specific ones; at least one where there is an error."""
    for error in [*_most_specific(errors, schema)] or errors:
        path = list(error.absolute_path)
        node, position = _at(root, path)
        if error.validator not in _CLOSING:
            yield AgreementFault(INVALID, f"{_words(path)} {_problem(error)}", position, _repair(error, node))
            continue
        known = _known_keys(error.schema, schema, set())
        for key in _refused_keys(error, known):
            at = node.key_positions.get(key, position) if isinstance(node, MappingNode) else position
            hint = "this one belongs to another form" if key in known else likely(key, known)
            meant = None if key in known else respelled(key, known, taken=error.instance)
            repair = None if meant is None else Repair(at, key, meant)
            yield AgreementFault(INVALID, f"{_words(path)} has no key {key}; {hint}", at, repair)


def _most_specific(errors: Iterable[StandardViolation], schema: JsonObject) -> Iterator[StandardViolation]:
    """Yield the errors that name the mistakes: of a choice, the errors of the branch that comes nearest.

    A key that a branch would know, had it been valid, is no error of its own.
    """
    for error in errors:
        if error.validator in _CHOICES and error.context:
            yield from _nearest(error, schema)
        elif error.validator not in _CLOSING or not _is_consequence(error, schema):
            yield error


def _nearest(error: StandardViolation, schema: JsonObject) -> Iterator[StandardViolation]:
    """Yield the errors of the branch that is refused deepest inside the value, else of the choice."""
    branches: dict[int, list[StandardViolation]] = {}
    for each in error.context or ():
        branches.setdefault(int(each.schema_path[0]), []).append(each)
    depth = {number: max(len(each.path) for each in found) for number, found in branches.items()}
    best = max(depth, key=lambda number: (depth[number], -len(branches[number])))
    if depth[best] == 0:
        yield error
    else:
        yield from _most_specific(branches[best], schema)


def _repair(error: StandardViolation, node: Node) -> Repair | None:
    """Return the intended value: a number as text where one must be, or a word in another spelling; None if unclear."""
    if not isinstance(node, ScalarNode):
        return None
    limit = error.validator_value
    types = [limit] if isinstance(limit, str) else limit
    if error.validator == "type" and "string" in types and node.kind in {YamlKind.INTEGER, YamlKind.NUMBER}:
        return Repair(node.position, node.text, f"'{node.text}'")
    if error.validator == "enum" and isinstance(error.instance, str):
        meant = respelled(error.instance, [each for each in limit if isinstance(each, str)])
        return None if meant is None else Repair(node.position, node.text, meant)
    return None


def _problem(error: StandardViolation) -> str:
    keyword, limit = error.validator, error.validator_value
    value = excerpt(str(error.instance), _MAX_SHOWN)
    match keyword:
        case "required":
            missing = [key for key in limit if key not in error.instance]
            return f"needs {', '.join(missing)}"
        case "type":
            types = [limit] if isinstance(limit, str) else limit
            return f"must be {' or '.join(_TYPE_WORDS[each] for each in types)}, not {value}"
        case "enum":
            names = [str(each) for each in limit]
            near = f"; {likely(str(error.instance), names)}" if isinstance(error.instance, str) else ""
            return f"must be one of {', '.join(names)}, not {value}{near if 'did you mean' in near else ''}"
        case "oneOf" | "anyOf":
            return _choice(limit)
    sentence = _SENTENCES.get(keyword)
    return excerpt(error.message, _MAX_SHOWN * 2) if sentence is None else sentence.format(limit=limit, value=value)


def _choice(branches: Sequence[object]) -> str:
    """Return the sentence about a choice, none of whose branches fits: their required keys or their types."""
    required = [", ".join(each["required"]) for each in branches if isinstance(each, dict) and "required" in each]
    if len(required) == len(branches):
        return f"needs exactly one of: {'; '.join(required)}"
    types = [each["type"] for each in branches if isinstance(each, dict) and isinstance(each.get("type"), str)]
    if len(types) == len(branches):
        return f"must be {' or '.join(_TYPE_WORDS[each] for each in dict.fromkeys(types))}"
    return "fits none of the forms that the standard permits here"


def _at(root: Node, path: Sequence[str | int]) -> tuple[Node, Position]:
    """Return the node at a path, and the position that shows it: of the key, else of the value."""
    node, position = root, root.position
    for step in path:
        if isinstance(node, MappingNode) and step in node.entries:
            node = node.entries[str(step)]
            position = node.position
        elif isinstance(node, ListNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            position = node.position
    return node, position


def _words(path: Sequence[str | int]) -> str:
    if not path:
        return "the file"
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return words.removeprefix(".")


def _is_consequence(error: StandardViolation, schema: JsonObject) -> bool:
    """Return whether a branch would know all keys that are refused, so that the error follows from another one."""
    known = _known_keys(error.schema, schema, set())
    return all(key in known for key in error.instance)


def _refused_keys(error: StandardViolation, known: set[str]) -> list[str]:
    """Return the keys that a closed mapping forbids: the ones that no branch knows, else the ones of the message."""
    unknown = [key for key in error.instance if key not in known]
    return unknown or [key for key in error.instance if f"'{key}'" in error.message] or list(error.instance)


def _known_keys(part: object, schema: JsonObject, seen: set[int]) -> set[str]:
    """Return the names of all properties that a schema mentions for its value, through references and branches."""
    if not isinstance(part, dict) or id(part) in seen:
        return set()
    seen.add(id(part))
    names = set(part.get("properties", ()))
    reference = part.get("$ref")
    if isinstance(reference, str):
        target: Json = schema
        for step in reference.removeprefix("#/").split("/"):
            target = target.get(step, {})
        names |= _known_keys(target, schema, seen)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for branch in part.get(keyword, ()):
            names |= _known_keys(branch, schema, seen)
    for keyword in ("then", "else"):
        names |= _known_keys(part.get(keyword), schema, seen)
    return names


# The published JSON Schemas of the standards, and the validation of a document with the place of every mistake.
#
# Documents are validated by jsonschema-rs where it is installed; jsonschema validates them without it, and finds the
# mistakes. Formats are not asserted.

_MAX_FAULTS: Final = 40
_MAX_ERRORS: Final = 400
"""The largest number of errors of jsonschema that are looked at for mistakes; a file may have thousands."""

_Check: TypeAlias = "Callable[[Json, Json, Json, Json], Iterable[Json] | None]"
"""What a validator of the package jsonschema does for a keyword; it returns the errors."""

_Valid: TypeAlias = "dict[tuple[str, int, int], tuple[Json, Json]]"
"""The values and schemas of keywords without errors, by keyword and identities, which stay taken meanwhile."""


@dataclass(frozen=True, slots=True)
class Standard:
    """One standard: its name, the ``kind`` of its documents, and the file for each ``apiVersion`` that is accepted."""

    name: str
    kind: str
    file_by_version: dict[str, str]


ODCS: Final = Standard(
    "ODCS",
    "DataContract",
    {f"v{version}": f"odcs-{version}.schema.json" for version in ("3.2.0", "3.1.0", "3.0.2", "3.0.1", "3.0.0")},
)
"""Each version has its own schema: that of 3.0 does not know what 3.1 added, and permits what 3.1 took away."""
ODPS: Final = Standard("ODPS", "DataProduct", dict.fromkeys(("v1.0.0", "v0.9.0"), "odps-1.0.0.schema.json"))
STANDARDS: Final = (ODCS, ODPS)


def standard_of(root: Node) -> tuple[Standard, str] | AgreementFault:
    """Return the standard of a document and the file of its schema, or why there is none."""
    if not isinstance(root, MappingNode):
        return AgreementFault(INVALID, "the file must be a mapping with kind and apiVersion", root.position)
    kinds = {each.kind: each for each in STANDARDS}
    kind_node, version_node = root.entries.get("kind"), root.entries.get("apiVersion")
    if kind_node is None:
        return AgreementFault(INVALID, f"the file needs kind: {' or '.join(kinds)}", root.position)
    standard = kinds.get(text_of(kind_node))
    if standard is None:
        problem = f"kind must be {' or '.join(kinds)}, not {text_of(kind_node)}; {likely(text_of(kind_node), kinds)}"
        return AgreementFault(
            INVALID, problem, kind_node.position, _meant(kind_node, respelled(text_of(kind_node), kinds))
        )
    versions = standard.file_by_version
    if version_node is None:
        return AgreementFault(INVALID, f"the file needs apiVersion: one of {', '.join(versions)}", root.position)
    version = text_of(version_node)
    if version not in versions:
        given = version or ("a text that is empty" if isinstance(version_node, ScalarNode) else "a list or a mapping")
        problem = f"apiVersion must be one of {', '.join(versions)}, not {given}"
        return AgreementFault(INVALID, problem, version_node.position, _meant(version_node, _with_v(version, versions)))
    return standard, versions[version]


def _with_v(version: str, versions: Iterable[str]) -> str | None:
    """Return the version that is written without its first letter, or with a capital one; None if it is none."""
    return respelled(f"v{version.removeprefix('V')}", versions)


def _meant(node: Node, word: str | None) -> Repair | None:
    return None if word is None else Repair(node.position, text_of(node), word)


def violations(root: Node, file: str) -> tuple[AgreementFault, ...]:
    """Return how a document violates the JSON Schema in ``file``; raise ``InvalidDocument`` for an unclear scalar.

    Where the document is valid under a later version of its standard, each mistake says so.
    """
    value = plain_value(root)
    if _is_quickly_valid(value, file):
        return ()
    schema = _schema(file)
    errors = [*islice(remembering_validator(file).iter_errors(value), _MAX_ERRORS)]
    found = dict.fromkeys(faults_of(errors, root, schema))
    later = _later_version(value, file) if found else ""
    hint = f"; the file is valid under apiVersion {later}" if later else ""
    return tuple(replace(each, problem=f"{each.problem}{hint}") for each in found)[:_MAX_FAULTS]


def is_quickly_valid(root: Node, file: str) -> bool:
    """Return whether a document is known to be valid within milliseconds; False also where that is not known."""
    return _is_quickly_valid(plain_value(root), file)


def _is_quickly_valid(value: object, file: str) -> bool:
    fast = _fast_validator(file)
    return fast is not None and bool(fast.is_valid(value))


def _later_version(value: object, file: str) -> str:
    """Return the first version after that of ``file`` under which a document is valid; empty if there is none."""
    versions = next(each.file_by_version for each in STANDARDS if file in each.file_by_version.values())
    files = list(dict.fromkeys(versions.values()))
    version_by_file = {each: version for version, each in reversed(versions.items())}
    later = (each for each in reversed(files[: files.index(file)]) if remembering_validator(each).is_valid(value))
    return version_by_file.get(next(later, ""), "")


def remembering_validator(file: str) -> Json:
    """Return a validator by jsonschema for one document, which remembers its valid nodes.

    The package validates a value inside ``n`` others ``2 ** n`` times, once more for each ``unevaluatedProperties``.
    """
    package = import_module("jsonschema")
    plain = package.Draft201909Validator
    valid: _Valid = {}
    checks = {keyword: _remembering(valid, keyword, check) for keyword, check in plain.VALIDATORS.items()}
    return package.validators.extend(plain, checks)(_schema(file))


def _remembering(valid: _Valid, keyword: str, check: _Check) -> _Check:
    """Return the check of a keyword of jsonschema, which is not done again for a value that passed it."""

    def checked(validator: object, limit: object, instance: object, schema: object) -> Iterator[Json]:
        key = (keyword, id(instance), id(schema))
        if key in valid:
            return
        is_valid = True
        for error in check(validator, limit, instance, schema) or ():
            is_valid = False
            yield error
        if is_valid:
            valid[key] = (instance, schema)

    return checked


@cache
def _schema(file: str) -> JsonObject:
    text = (files("counterfoil.schema.agreements") / "standards" / file).read_text(encoding="utf-8")
    schema: JsonObject = json.loads(text)
    return schema


@cache
def _fast_validator(file: str) -> Json:
    """Return the compiled validator of jsonschema-rs; None where it is not installed."""
    try:
        rust = import_module("jsonschema_rs")
    except ImportError:  # the extra json has it
        return None
    return rust.Draft201909Validator(_schema(file), validate_formats=False)


# Typed values of mappings that are valid under a standard, and our own properties in ``customProperties``.

_Value = TypeVar("_Value")
INVALID_PROPERTY: Final = "property-invalid"
"""The rule about the values of our own properties."""


class Faults:
    """The mistakes that are found while a document is read."""

    def __init__(self) -> None:
        self.found: list[AgreementFault] = []

    def reading(self, read: Callable[[Node], _Value], node: Node, default: _Value) -> _Value:
        """Return the value of ``read`` for ``node``; where it refuses, add the mistake and return ``default``."""
        try:
            return read(node)
        except InvalidDocument as mistake:
            place = mistake.position or node.position
            self.found.append(AgreementFault(INVALID_PROPERTY, mistake.problem, place, mistake.repair))
            return default

    def value(self, own: Mapping[str, Node], key: str, read: Callable[[Node], _Value], default: _Value) -> _Value:
        """Return one of the properties ``own``, as :meth:`reading` does; ``default`` without it."""
        return default if key not in own else self.reading(read, own[key], default)


@dataclass(frozen=True, slots=True)
class ValidMapping:
    """A mapping whose values have the types that the standard says."""

    node: MappingNode

    @classmethod
    def of(cls, node: Node) -> ValidMapping:
        """Return the entry of a node; an empty one if it is no mapping."""
        return cls(node if isinstance(node, MappingNode) else MappingNode(node.position, {}, {}))

    def get(self, key: str) -> Node | None:
        """Return a value; None without one, and for null."""
        found = self.node.entries.get(key)
        return None if found is None or found.kind is YamlKind.NULL else found

    def text(self, key: str) -> str | None:
        """Return a text; None without one."""
        found = self.get(key)
        return None if found is None else text_of(found) or None

    def flag(self, key: str) -> bool:
        """Return a boolean; False without one."""
        found = self.get(key)
        return isinstance(found, ScalarNode) and found.value is True

    def scalar(self, key: str) -> Scalar:
        """Return a scalar of any type; None without one."""
        found = self.get(key)
        return found.value if isinstance(found, ScalarNode) else None

    def limit(self, key: str) -> int | float | str | None:
        """Return a number or a text; None without one."""
        value = self.scalar(key)
        return None if isinstance(value, bool) else value

    def nodes(self, key: str) -> tuple[Node, ...]:
        """Return the items of a list; empty without one."""
        found = self.get(key)
        return found.items if isinstance(found, ListNode) else ()

    def entries(self, key: str) -> Iterator[ValidMapping]:
        """Yield the mappings of a list."""
        return (ValidMapping.of(each) for each in self.nodes(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts of a list."""
        return tuple(text_of(each) for each in self.nodes(key))

    def custom(self) -> dict[str, Node]:
        """Return the values of ``customProperties`` by name; the first of each."""
        found: dict[str, Node] = {}
        for each in self.entries("customProperties"):
            value = each.get("value")
            if value is not None:
                found.setdefault(each.text("property") or "", value)
        return found

    @property
    def places(self) -> dict[str, Position]:
        """The places of the values by key."""
        return {key: node.position for key, node in self.node.entries.items()}

    def plain_at(self, key: str) -> object:
        """Return a value of any type as it would be in JSON."""
        return plain_value(self.node.entries[key])

    def plain(self, key: str) -> dict[str, object]:
        """Return a mapping as a dict; empty without one."""
        found = self.get(key)
        return dict(plain_value(found)) if isinstance(found, MappingNode) else {}


# Regular expressions in contract files: those of ECMA 262, as the standards of contracts and JSON Schema say.

MAX_PATTERN_LENGTH: Final = 20_000
"""The largest length of a pattern in a contract, in characters; a compiled one takes memory in proportion to it."""


def pattern_of(node: Node) -> str:
    """Return a regular expression as it is written; raise ``InvalidDocument`` for one that cannot be compiled."""
    from counterfoil.schema.patterns.matching import MAX_EXPANDED_SIZE, expanded_size, is_too_large, mistake_in_pattern

    text = words(node, what="pattern")
    if len(text) > MAX_PATTERN_LENGTH:
        raise refusal(f"pattern has {len(text)} characters; expected at most {MAX_PATTERN_LENGTH}", node)
    if is_too_large(text):
        problem = f"pattern has {expanded_size(text)} parts after its repetitions; expected at most {MAX_EXPANDED_SIZE}"
        raise refusal(problem, node)
    mistake = mistake_in_pattern(text)
    if mistake is not None:
        raise refusal(f"pattern is no regular expression: {mistake}", node)
    return text
