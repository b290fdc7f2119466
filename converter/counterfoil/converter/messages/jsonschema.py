"""JSON messages as base values.

A property that is left out has its default, else it is None. None is written as null where the schema has null, else
the property is left out. Every written value is validated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, TypeAlias

from counterfoil.converter.messages.table import TypeTurns, ValueMisfit, each_item, each_value, expected
from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.plans import ConversionError, FailureCode, shown
from counterfoil.schema.plans.derivations import derive_resolution
from counterfoil.schema.plans.jsonschema import test_of, tree_of
from counterfoil.schema.plans.model import Scalar, ValueShape
from counterfoil.schema.plans.tree import ArrayType, Leaf, MapType, Node, NullType, RecordField, RecordType, UnionType
from counterfoil.schema.plans.types import WHOLE, describe, range_of, shape_of, split_null, value_of_json
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.errors import SerdeError, ValidationError
from counterfoil.sdk.serde.json import JsonCodec
from counterfoil.sdk.serde.json.schemas import compile_validator
from counterfoil.sdk.serde.json.text import exact_numbers

Turn: TypeAlias = Callable[[Datum], Datum]
Content: TypeAlias = "tuple[str, Datum, dict[str, Datum]]"

_MAX_STEPS: Final = 1_000_000
_ABSENT: Final = object()


def pack(schema: JsonSchema) -> Content:
    """Return the text, the document and the documents of references."""
    return schema.text, schema.document, dict(schema.references)


def reading_problem(source: JsonSchema, writer: JsonSchema) -> str | None:
    """Return why a writer's messages cannot be read as values of ``source``; None if they can."""
    problems = derive_resolution(writer, source).problems
    return str(problems[0]) if problems else None


def make_reader(source: Content, writer_by_id: Mapping[int, Content]) -> Callable[[int, bytes, int], Datum]:
    """Return a function ``(schema_id, data, offset)`` that reads a body as a base value of ``source``."""
    del writer_by_id  # a JSON text has no layout that only its writer knows
    schema = JsonSchema(*source)
    decode = JsonCodec(validate=False, adds_defaults=False).decoder(schema, None, b"")
    turn = _Reader().turn(tree_of(schema))

    def read(schema_id: int, data: bytes, offset: int) -> Datum:
        del schema_id
        try:
            return turn(decode(data, offset))
        except ValueMisfit as misfit:
            raise misfit.as_error() from None
        except SerdeError as error:
            raise ConversionError(FailureCode.UNDECODABLE, "", error.problem) from None
        except (RecursionError, OutOfSteps):
            raise ConversionError(FailureCode.UNDECODABLE, "", "the value is nested too deep") from None

    return read


def make_writer(target: Content, target_id: int | None) -> Callable[[Datum], bytes]:
    """Return a function that writes a base value of ``target``, if it is valid, with its schema id in the frame.

    Without an id it is plain JSON.
    """
    schema = JsonSchema(*target)
    prefix, encode = b"" if target_id is None else id_prefix(target_id), JsonCodec(validate="write").encoder(schema)
    turn = _Writer().turn(tree_of(schema))
    validator = cache(lambda: compile_validator(schema))  # for what is wrong with a value

    def write(value: object) -> bytes:
        made = None
        try:
            made = turn(value)
            return encode(made, prefix)
        except ValidationError as invalid:
            first = validator().first_violation(made) or invalid.violations[0]
            raise ConversionError(FailureCode.UNENCODABLE, first.path, first.message) from None
        except SerdeError as error:
            raise ConversionError(FailureCode.UNENCODABLE, getattr(error, "path", ""), error.problem) from None
        except ValueMisfit as misfit:
            raise ConversionError(FailureCode.UNENCODABLE, misfit.path, misfit.problem) from None
        except RecursionError:
            raise ConversionError(FailureCode.UNENCODABLE, "", "the value is nested too deep") from None

    return write


class _Walk(ABC):
    """Makes the function of each type once: types may contain themselves."""

    def __init__(self) -> None:
        self._turns = TypeTurns()

    def turn(self, node: Node) -> Turn:
        """Return the function that turns values of the type."""
        if isinstance(node, RecordType):
            return self._turns.once(node, lambda: self.record(node))
        if isinstance(node, UnionType):
            has_null, inner = split_null(node)
            if isinstance(inner, UnionType) or inner is None:
                return self.tagged(node) if node.is_tagged else self._untagged(node)
            present = self.turn(inner)
            return (lambda value: None if value is None else present(value)) if has_null else present
        if isinstance(node, ArrayType):
            items = self.turn(node.items)
            return lambda value: each_item(items, _checked(value, list, node))
        if isinstance(node, MapType):
            values = self.turn(node.values)
            return lambda value: each_value(values, _checked(value, dict, node))
        return self.leaf(node)

    @abstractmethod
    def record(self, node: RecordType) -> Turn:
        """Return the function that turns objects."""

    @abstractmethod
    def tagged(self, node: UnionType) -> Turn:
        """Return the function that turns values of a ``oneOf``, whose branches are distinguished by tests."""

    @abstractmethod
    def leaf(self, node: Node) -> Turn:
        """Return the function that turns values without parts."""

    def _untagged(self, node: UnionType) -> Turn:
        """Return the function of a union whose branches have values of different classes."""
        found: dict[type, Turn] = {}
        for branch in node.branches:
            shape = shape_of(branch)
            if shape is not None:
                found.update(dict.fromkeys(_CLASSES_BY_SHAPE[shape], self.turn(branch)))
            elif isinstance(branch, NullType):
                found[type(None)] = lambda value: value
        if int in found:
            found.setdefault(float, found[int])  # 1.0 is a whole number in JSON
        words = describe(node)

        def turn(value: object) -> Datum:
            of_branch = found.get(type(value))
            if of_branch is None:
                raise expected(words, value)
            return of_branch(value)

        return turn


_CLASSES_BY_SHAPE: Final[dict[ValueShape, tuple[type, ...]]] = {
    ValueShape.BOOLEAN: (bool,),
    ValueShape.INTEGER: (int,),
    ValueShape.REAL: (float, int),
    ValueShape.TEXT: (str,),
    ValueShape.BYTES: (bytes,),
    ValueShape.LIST: (list,),
    ValueShape.OBJECT: (dict,),
}


class _Reader(_Walk):
    """JSON values to base values."""

    def record(self, node: RecordType) -> Turn:
        members = [(member.name, self.turn(_present(member)), _absent(member)) for member in node.fields]

        def read(value: object) -> dict[str, Datum]:
            given = _checked(value, dict, node)
            made: dict[str, Datum] = {}
            name = ""
            try:
                for name, turn, absent in members:
                    if name in given:
                        made[name] = turn(given[name])
                    else:
                        made[name] = _filled(absent)
            except ValueMisfit as misfit:
                raise misfit.under(name) from None
            return made

        return read

    def tagged(self, node: UnionType) -> Turn:
        branches = [
            (index, test_of(node, index), self.turn(branch))
            for index, branch in enumerate(node.branches)
            if not isinstance(branch, NullType)
        ]
        has_null = len(branches) < len(node.branches)

        def read(value: object) -> Datum:
            if value is None and has_null:
                return None
            exact, evaluator = exact_numbers(value), Evaluator(_MAX_STEPS)
            for index, test, turn in branches:
                if evaluator.accepts(test, exact):
                    return index, turn(value)
            raise expected(describe(node), value)

        return read

    def leaf(self, node: Node) -> Turn:
        if not isinstance(node, Leaf):
            return _null if isinstance(node, NullType) else lambda value: value
        return _leaf_check(node)


class _Writer(_Walk):
    """Base values to JSON values."""

    def record(self, node: RecordType) -> Turn:
        members = [(member.name, self.turn(member.type), member.has_null) for member in node.fields]

        def write(value: dict[str, Datum]) -> dict[str, Datum]:
            made: dict[str, Datum] = {}
            for name, turn, has_null in members:
                item = value[name]
                if item is not None:
                    made[name] = turn(item)
                elif has_null:
                    made[name] = None
            return made

        return write

    def tagged(self, node: UnionType) -> Turn:
        turns = [self.turn(branch) for branch in node.branches]
        return lambda value: None if value is None else turns[value[0]](value[1])

    def leaf(self, node: Node) -> Turn:
        del node
        return lambda value: value


def _filled(absent: object) -> Datum:
    if absent is _ABSENT:
        raise ValueMisfit("the property is required, and it is left out")
    return absent


def _present(member: RecordField) -> Node:
    """Return the type of a property that is there: without null, if null only stands for a property left out."""
    return member.type if member.has_null else split_null(member.type)[1] or member.type


def _absent(member: RecordField) -> Datum:
    """Return the base value of a property that is left out; ``_ABSENT`` if it may not be."""
    if member.may_be_absent:
        return None
    return value_of_json(member.type, member.default) if member.has_default else _ABSENT


def _checked(value: object, wanted: type, node: Node) -> Datum:
    if not isinstance(value, wanted):
        raise expected(describe(node), value)
    return value


def _null(value: object) -> None:
    if value is not None:
        raise expected("null", value)


def _leaf_check(node: Leaf) -> Turn:
    scalar = node.scalar
    if scalar.base in WHOLE:
        return lambda value: _whole(value, scalar)
    if scalar.base == "number":
        return _number
    if scalar.base == "enum":
        symbols = frozenset(node.symbols)
        words = f"one of {', '.join(node.symbols)}"

        def check(value: object) -> Datum:
            if not isinstance(value, str) or value not in symbols:
                raise expected(words, value)
            return value

        return check
    wanted = bool if scalar.base == "boolean" else str
    return lambda value: _checked(value, wanted, node)


def _number(value: object) -> Datum:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise expected("a number", value)
    return value


def _whole(value: object, scalar: Scalar) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise expected("a whole number", value)
    low, high = range_of(scalar)
    if not low <= value <= high:
        raise ValueMisfit(f"{shown(value)} does not fit {scalar}", FailureCode.OUT_OF_RANGE)
    return value
