"""Base values of a schema: whether they fit it, what is promised of them, and what a consumer expects of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.constraints import constraints_of
from counterfoil.contracts.values.form import form_of, one_line, shown_bytes, shown_real
from counterfoil.schema.evolution import base_schema
from counterfoil.schema.evolution.languages.table import tree_of
from counterfoil.schema.evolution.tree import Array, Leaf, Map, Record, Union, branch_of
from counterfoil.schema.evolution.types import NUMERIC
from counterfoil.schema.formats.avro.schema import AvroSchema
from counterfoil.schema.formats.jsonschema.schema import JsonSchema
from counterfoil.schema.formats.jsonschema.witness.validator import SchemaValidator
from counterfoil.schema.paths import StepKind, print_path
from counterfoil.schema.reads.json_base import NoValues, base_of_json, json_of_base
from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde.avro_codec import compile_encoder
from counterfoil.sdk.serde.avro_codec.tagged import compile_tagged_decoder
from counterfoil.sdk.serde.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.contracts.constraints import Constraint
    from counterfoil.schema.agreements.model import FieldPromise, Read
    from counterfoil.schema.evolution.tree import Node
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths.model import FieldPath, Step


PLAIN: Final = frozenset({"uint32", "uuid"})
"""The words of types whose base values are those of a decoder, though they have another name than the base."""


def misfit_function(schema: ParsedSchema) -> Callable[[Any], str]:
    """Return the function that says why a base value is no value of ``schema``; its result is empty if it is one.

    The values of Protobuf have no constraints besides their types, which plans keep.
    """
    if isinstance(schema, AvroSchema):
        encode = compile_encoder(base_schema(schema), takes_indexes=True, exact=False)

        def avro_misfit(value: Any) -> str:
            try:
                encode(value, b"")
            except EncodeError as error:
                return f"{error.path}: {error.problem}"
            return ""

        return avro_misfit
    if isinstance(schema, JsonSchema):
        tree, validator = tree_of(schema), SchemaValidator(schema)

        def json_misfit(value: Any) -> str:
            return next((str(each) for each in validator.failures(json_of_base(tree, value))), "")

        return json_misfit
    return lambda _: ""


def recorded_function(schema: ParsedSchema) -> Callable[[Any], Any]:
    """Return the function from a recorded value, as ``counterfoil consume`` prints it, to the base value.

    The function raises ``NoValues`` for what is no value of the schema; so does this one for Protobuf.
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

    def recorded(given: Any) -> Any:
        try:
            return decode(encode(form.value(schema, given), b""), 0)
        except EncodeError as error:
            raise NoValues(f"{error.path}: {error.problem}") from None

    return recorded


def shown(schema: ParsedSchema, value: Any) -> str:
    """Return a base value as one line of JSON."""
    return one_line(_plain(json_of_base(tree_of(schema), value)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return shown_real(value)
    return shown_bytes(value) if isinstance(value, bytes) else value


def unkept(tree: Node, value: Any, expected: Sequence[FieldPromise | Read]) -> Iterator[str]:
    """Yield what a base value does not keep of promises or expectations, as sentences."""
    for each in expected:
        if each.path and each.path[0].kind in {StepKind.KEY, StepKind.HEADER}:
            continue
        constraints = tuple(constraints_of(each))
        for node, found in at(tree, value, each.path):
            if (problem := _problem(node, found, constraints)) is not None:
                yield f"{print_path(each.path)} {problem}"
                break


def _problem(node: Node | None, value: Any, constraints: Sequence[Constraint]) -> str | None:
    is_plain, plain = _plain_value(node, value)
    for each in constraints if is_plain else ():
        if not each.fits(plain):
            words = "missing" if plain is None else repr(plain) if isinstance(plain, str) else plain
            return f"is {words}, and {each.words} is expected"
    return None


def _plain_value(node: Node | None, value: Any) -> tuple[bool, Any]:
    """Return the value that a base value stands for, and whether it is known; it is not for dates and times."""
    if isinstance(node, Leaf) and node.scalar.word == "decimal" and isinstance(value, bytes):
        from decimal import Decimal

        return True, Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-node.scalar.scale)
    is_plain = not isinstance(node, Leaf) or node.scalar.word in {node.scalar.base, *PLAIN} or bool(node.symbols)
    return is_plain or value is None, value


def at(node: Node | None, value: Any, path: FieldPath) -> Iterator[tuple[Node | None, Any]]:
    """Yield the types and values at a path: one, or those of each item; None where a part on the way is missing."""
    node, value = _present(node, value)
    if not path:
        yield node, value
        return
    step, rest = path[0], path[1:]
    if value is None:
        yield None, None
    elif isinstance(node, Array) and step.kind is StepKind.ITEM:
        for each in value:
            yield from at(node.items, each, rest)
    elif isinstance(node, Map) and step.kind is StepKind.VALUE:
        for each in value.values():
            yield from at(node.values, each, rest)
    elif isinstance(node, Record):
        yield from _in_record(node, value, step, rest)


def _in_record(node: Record, value: Any, step: Step, rest: FieldPath) -> Iterator[tuple[Node | None, Any]]:
    if step.kind is StepKind.BRANCH:
        yield from at(node, value, rest)
        return
    field = next((each for each in node.fields if each.name == step.name), None)
    if field is not None:
        yield from at(field.type, value[field.name], rest)


def numbers_in(node: Node, value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers in a base value, with their paths; a decimal is its bytes."""
    node_of, inner = _present(node, value)
    match node_of:
        case Record() if isinstance(inner, dict):
            for each in node_of.fields:
                yield from numbers_in(each.type, inner[each.name], f"{path}.{each.name}" if path else each.name)
        case Array() if isinstance(inner, list):
            for each in inner:
                yield from numbers_in(node_of.items, each, f"{path}[]")
        case Map() if isinstance(inner, dict):
            for each in inner.values():
                yield from numbers_in(node_of.values, each, f"{path}{{}}")
        case Leaf() if inner is not None and (node_of.scalar.word in NUMERIC or node_of.scalar.word == "decimal"):
            yield path, inner


def without_tags(node: Node, value: Any) -> Any:
    """Return a base value without the indexes of branches of unions, as a decoder returns it."""
    node_of, inner = _present(node, value)
    match node_of:
        case Record() if isinstance(inner, dict):
            return {each.name: without_tags(each.type, inner[each.name]) for each in node_of.fields}
        case Array() if isinstance(inner, list):
            return [without_tags(node_of.items, each) for each in inner]
        case Map() if isinstance(inner, dict):
            return {key: without_tags(node_of.values, each) for key, each in inner.items()}
    return inner


def _present(node: Node | None, value: Any) -> tuple[Node | None, Any]:
    """Return the branch of a value, and the value in it: the only branch besides null, or that of a tag or a class."""
    if not isinstance(node, Union):
        return node, value
    if node.is_tagged and isinstance(value, tuple):
        index, inner = value
        return _present(node.branches[index], inner)
    return branch_of(node, value), value
