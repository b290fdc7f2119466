"""The values of a migration's trial: recorded ones; whether they fit a schema, keep promises, suit a consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from counterfoil.contracts.errors import InputNotFound, PreconditionFailed
from counterfoil.contracts.values import form_of, one_line, read_json, shown_bytes, shown_real
from counterfoil.contracts.values.constraints import VARIABLES, Constraint, compile_rule, constraints_of
from counterfoil.schema.agreements import ExpectedRead, FieldPromise, Promise
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.validator import SchemaValidator
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import FieldPath, Step, StepKind, member, print_path
from counterfoil.schema.plans.avro import base_schema
from counterfoil.schema.plans.jsonschema import NoValues, base_of_json, json_of_base
from counterfoil.schema.plans.tree import ArrayType, Leaf, MapType, Node, RecordType, UnionType, branch_of, tree_of
from counterfoil.schema.plans.types import NUMERIC
from counterfoil.sdk.errors import EncodeError, RuleError
from counterfoil.sdk.serde.avro.coders import compile_encoder
from counterfoil.sdk.serde.avro.tagged import compile_tagged_decoder
from counterfoil.sdk.serde.multi import LANGUAGES

# Recorded values of topics: files with the lines that ``counterfoil consume`` prints, one file for each topic.

_SUFFIXES: Final = (".jsonl", ".ndjson", ".json")


class RecordedTopics:
    """The files ``TOPIC.jsonl`` in ``folder``. Raises ``InputNotFound`` if there is no such folder."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise InputNotFound(f"there is no folder {folder!r}, which --recorded names")

    def values(self, topic: str) -> tuple[Datum, ...]:
        """Return the values of a topic, without tombstones; an empty tuple without a file.

        Raises ``PreconditionFailed`` for a line that is no JSON.
        """
        found = next((path for suffix in _SUFFIXES if (path := self._folder / f"{topic}{suffix}").is_file()), None)
        return () if found is None else tuple(each for each in _values(found) if each is not None)


def _values(path: Path) -> Iterator[Datum]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # texts in JSON may have other line ends
    except UnicodeDecodeError as error:
        raise PreconditionFailed(f"{path} is not UTF-8 ({error.reason})") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                given = read_json(line)
            except ValueError as problem:
                raise PreconditionFailed(f"{path}:{number} is no line of JSON: {problem}") from None
            yield given["value"] if isinstance(given, dict) and "value" in given else given


# Base values of a schema: whether they fit it, what is promised of them, and what a consumer expects of them.

PLAIN: Final = frozenset({"uint32", "uuid"})
"""The words of types whose base values are those of a decoder, though they have another name than the base."""


def misfit_function(schema: ParsedSchema) -> Callable[[Datum], str]:
    """Return the function that says why a base value is no value of ``schema``; its result is empty if it is one.

    The values of Protobuf have no constraints besides their types, which plans keep.
    """
    if isinstance(schema, AvroSchema):
        encode = compile_encoder(base_schema(schema), takes_indexes=True, exact=False)

        def avro_misfit(value: object) -> str:
            try:
                encode(value, b"")
            except EncodeError as error:
                return f"{error.path}: {error.problem}"
            return ""

        return avro_misfit
    if isinstance(schema, JsonSchema):
        tree, validator = tree_of(schema), SchemaValidator(schema)

        def json_misfit(value: object) -> str:
            return next((str(each) for each in validator.failures(json_of_base(tree, value))), "")

        return json_misfit
    return lambda _: ""


def recorded_function(schema: ParsedSchema) -> Callable[[Datum], Datum]:
    """Return the function from a recorded value, as ``counterfoil consume`` prints it, to the base value.

    The function raises ``NoValues`` for anything that is no value of the schema; so does this one for Protobuf.
    """
    tree = tree_of(schema)
    if isinstance(schema, JsonSchema):
        return lambda given: base_of_json(tree, given)
    if not isinstance(schema, AvroSchema):
        raise NoValues(f"recorded values of {schema.schema_type} are not read; generated ones are tried")
    form = form_of(schema.schema_type)
    codec = LANGUAGES[schema.schema_type].make_codec(**form.options)
    encode = codec.encoder(schema)
    decode = compile_tagged_decoder(base_schema(schema))

    def recorded(given: object) -> Datum:
        try:
            return decode(encode(form.value(schema, given), b""), 0)
        except EncodeError as error:
            raise NoValues(f"{error.path}: {error.problem}") from None

    return recorded


def shown(schema: ParsedSchema, value: object) -> str:
    """Return a base value as one line of JSON."""
    return one_line(_plain(json_of_base(tree_of(schema), value)))


def _plain(value: object) -> Datum:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return shown_real(value)
    return shown_bytes(value) if isinstance(value, bytes) else value


def unkept(tree: Node, value: object, expected: Sequence[FieldPromise | ExpectedRead]) -> Iterator[str]:
    """Yield the promises or expectations that a base value does not keep, as sentences."""
    for each in expected:
        if each.path and each.path[0].kind in {StepKind.KEY, StepKind.HEADER}:
            continue
        constraints = tuple(constraints_of(each))
        for node, found in at(tree, value, each.path):
            if (problem := _problem(node, found, constraints)) is not None:
                yield f"{print_path(each.path)} {problem}"
                break


def _problem(node: Node | None, value: object, constraints: Sequence[Constraint]) -> str | None:
    is_plain, plain = _plain_value(node, value)
    for each in constraints if is_plain else ():
        if not each.fits(plain):
            words = "missing" if plain is None else repr(plain) if isinstance(plain, str) else plain
            return f"is {words}, and {each.words} is expected"
    return None


def _plain_value(node: Node | None, value: object) -> tuple[bool, Datum]:
    """Return the value that a base value stands for, and whether it is known; it is not for dates and times."""
    if isinstance(node, Leaf) and node.scalar.word == "decimal" and isinstance(value, bytes):
        from decimal import Decimal

        return True, Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-node.scalar.scale)
    is_plain = not isinstance(node, Leaf) or node.scalar.word in {node.scalar.base, *PLAIN} or bool(node.symbols)
    return is_plain or value is None, value


def at(node: Node | None, value: Datum, path: FieldPath) -> Iterator[tuple[Node | None, Datum]]:
    """Yield the types and values at a path: one pair, or one for each item; None where a part on the way is missing."""
    node, value = _present(node, value)
    if not path:
        yield node, value
        return
    step, rest = path[0], path[1:]
    if value is None:
        yield None, None
    elif isinstance(node, ArrayType) and step.kind is StepKind.ITEM:
        for each in value:
            yield from at(node.items, each, rest)
    elif isinstance(node, MapType) and step.kind is StepKind.VALUE:
        for each in value.values():
            yield from at(node.values, each, rest)
    elif isinstance(node, RecordType):
        yield from _in_record(node, value, step, rest)


def _in_record(node: RecordType, value: Datum, step: Step, rest: FieldPath) -> Iterator[tuple[Node | None, Datum]]:
    if step.kind is StepKind.BRANCH:
        yield from at(node, value, rest)
        return
    field = next((each for each in node.fields if each.name == step.name), None)
    if field is not None:
        yield from at(field.type, value[field.name], rest)


def numbers_in(node: Node, value: object, path: str = "") -> Iterator[tuple[str, Datum]]:
    """Yield the numbers in a base value, with their paths; a decimal is its bytes."""
    node_of, inner = _present(node, value)
    match node_of:
        case RecordType() if isinstance(inner, dict):
            for each in node_of.fields:
                yield from numbers_in(each.type, inner[each.name], f"{path}.{each.name}" if path else each.name)
        case ArrayType() if isinstance(inner, list):
            for each in inner:
                yield from numbers_in(node_of.items, each, f"{path}[]")
        case MapType() if isinstance(inner, dict):
            for each in inner.values():
                yield from numbers_in(node_of.values, each, f"{path}{{}}")
        case Leaf() if inner is not None and (node_of.scalar.word in NUMERIC or node_of.scalar.word == "decimal"):
            yield path, inner


def without_tags(node: Node, value: object) -> Datum:
    """Return a base value without the indexes of branches of unions, as a decoder returns it."""
    node_of, inner = _present(node, value)
    match node_of:
        case RecordType() if isinstance(inner, dict):
            return {each.name: without_tags(each.type, inner[each.name]) for each in node_of.fields}
        case ArrayType() if isinstance(inner, list):
            return [without_tags(node_of.items, each) for each in inner]
        case MapType() if isinstance(inner, dict):
            return {key: without_tags(node_of.values, each) for key, each in inner.items()}
    return inner


def _present(node: Node | None, value: object) -> tuple[Node | None, Datum]:
    """Return the branch of a value, and the value in it: the only branch besides null, or that of a tag or a class."""
    if not isinstance(node, UnionType):
        return node, value
    if node.is_tagged and isinstance(value, tuple):
        index, inner = value
        return _present(node.branches[index], inner)
    return branch_of(node, value), value


# The conditions in CEL of a contract's topic, evaluated with base values.

_CEL: Final = "cel"
_MESSAGE: Final = VARIABLES[0]
_ERROR: Final = frozenset({None, "error"})


class _Condition(NamedTuple):
    name: str
    paths: tuple[tuple[str, ...], ...]
    evaluate: Callable[[Mapping[str, Datum]], Datum]


class Conditions:
    """The conditions of ``promise`` about whole records whose severity is error.

    A condition about keys or headers is left out, since only values are tried. So is one that reads a date, a point in
    time or a decimal, because a base value is its number, and every one where no engine for CEL is installed.
    """

    def __init__(self, promise: Promise, tree: Node) -> None:
        self._tree = tree
        self._conditions = tuple(_conditions(promise))

    def broken(self, value: object) -> Iterator[str]:
        """Yield the expectations that a record does not keep, as sentences."""
        message = without_tags(self._tree, value) if self._conditions else None
        for condition in self._conditions:
            if not self._is_plain(value, condition.paths):
                continue
            try:
                is_kept = condition.evaluate({_MESSAGE: message}) is True
            except RuleError as error:
                yield f"{condition.name} cannot be evaluated: {error}"
                continue
            if not is_kept:
                yield f"{condition.name} is not kept"

    def _is_plain(self, value: object, paths: tuple[tuple[str, ...], ...]) -> bool:
        """Return whether the values at paths equal the values that a condition gets from a decoder."""
        nodes = [node for path in paths for node, _ in at(self._tree, value, tuple(map(member, path)))]
        return bool(paths) and all(
            isinstance(node, Leaf) and (node.scalar.word in {node.scalar.base, *PLAIN} or bool(node.symbols))
            for node in nodes
        )


def _conditions(promise: Promise) -> Iterator[_Condition]:
    from counterfoil.sdk.serde.rules.cel.executors import compile_check_of

    for rule in promise.quality:
        source = rule.implementation
        if rule.engine != _CEL or rule.path or source is None or rule.severity not in _ERROR:
            continue
        outcome = compile_rule(source)
        if outcome.problem is None and outcome.reads and outcome.variables == {_MESSAGE}:
            name = f"the rule {rule.id or source.strip()}"
            yield _Condition(name, outcome.reads, compile_check_of(source, VARIABLES))
