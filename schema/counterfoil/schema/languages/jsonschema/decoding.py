"""JSON texts byte by byte, and whether a schema accepts them: the validator of another project says where it does not.

A member of an object with a scalar is one part, from its name to the end of its value; brackets, commas and white space
between the others are parts, too.

Source: RFC 8259.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from counterfoil.schema.compatibility import OutOfSteps, Steps
from counterfoil.schema.compatibility.findings import SideNames
from counterfoil.schema.datum import Json
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.byte_walk import (
    MASKED,
    ByteWalk,
    ReadValue,
    ValueTree,
    WalkedBytes,
    named,
    path_text,
    shown_text,
    text_of,
)
from counterfoil.schema.languages.jsonschema.json_values import print_exact, read_exact_json
from counterfoil.schema.languages.jsonschema.schema import JsonSchema, check_validity
from counterfoil.schema.languages.jsonschema.validator import (
    SchemaValidator,
    ValidationFailure,
    ValidatorRefuses,
    validator_name,
)
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.written import root_of
from counterfoil.schema.languages.jsonschema.witness import step_in_words
from counterfoil.schema.paths import Step, item, member

_BLANK: Final = re.compile(rb"[ \t\n\r]*")
_CHARACTERS: Final = re.compile(rb'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*')
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD: Final = re.compile(rb"true|false|null")
_LONG: Final = 1_000
_MAX_LOOKS: Final = 200_000
"""The largest number of schemas that are evaluated for one value."""
_SIDES: Final = SideNames("the schema", "the writer", "the schema's", "the writer's")

_Way = tuple[str | int, ...]


def decode_body(schema: JsonSchema, walk: ByteWalk, indexes: Sequence[int]) -> ValueTree:
    """Return the value of a text; raise ``DecodingStopped`` where it is no JSON.

    A value that the schema does not accept is noted as a fault at its place.
    """
    del indexes
    start = walk.offset
    decoder = _JsonDecoder(walk)
    tree = decoder.whole()
    if not walk.left:
        failure = _failure(schema, walk.data[start : walk.offset], walk.steps)
        if failure is not None:
            walk.path[:] = _steps(failure.path)
            said = step_in_words(failure).render(_SIDES, is_start=False)
            walk.note(f"The schema does not accept the value: {said}", said, offset=decoder.start_of(failure.path))
            walk.path.clear()
    return tree


class _JsonDecoder:
    """Reads one JSON text from one walk."""

    def __init__(self, walk: ByteWalk) -> None:
        self._walk = walk
        self._way: list[str | int] = []
        self._starts: dict[_Way, int] = {}
        self._is_valid_to = _valid_to(walk)

    def whole(self) -> ValueTree:
        """Return the value, with the white space around it."""
        first = self._walk.offset
        self._skip_blank()
        self._gap(first)
        tree = self._value(self._walk.offset)
        first = self._walk.offset
        self._skip_blank()
        self._gap(first)
        return tree

    def start_of(self, way: _Way) -> int:
        """Return the offset of the value at a place, or of the nearest one around it that is known."""
        while way and way not in self._starts:
            way = way[:-1]
        return self._starts.get(way, self._walk.offset)

    def _value(self, first: int) -> ValueTree:
        """Return the value that begins here; the part of a scalar begins at ``first``, that of its name."""
        walk = self._walk
        if len(self._starts) < walk.most_nodes:
            self._starts[tuple(self._way)] = walk.offset
        begin = walk.data[walk.offset : min(walk.offset + 1, walk.end)]
        if begin not in (b"{", b"["):
            return self._scalar(first, begin)
        if first < walk.offset:
            walk.leaf(first, "name", str(self._way[-1]), shown_text)
        return self._object() if begin == b"{" else self._array()

    def _object(self) -> ValueTree:
        walk = self._walk
        tree: dict[str, ValueTree] = {}
        walk.begin("object")
        first = self._pass()
        is_end = self._at(b"}")
        while not is_end:
            self._gap(first)
            first = walk.offset
            name = self._string("a name in quotes")
            self._skip_blank()
            self._expect(b":", "a colon after the name")
            self._skip_blank()
            tree[name] = self._member(name, first)
            first, is_end = self._next(b"}")
        walk.offset += 1
        self._gap(first)
        walk.finish()
        return walk.built(tree)

    def _member(self, name: str, first: int) -> ValueTree:
        walk, step = self._walk, named(member, name)
        masks = walk.enter(step, name)
        self._way.append(name)
        found = self._value(first)
        self._way.pop()
        return walk.leave(step, name, found, masks=masks)

    def _array(self) -> ValueTree:
        walk = self._walk
        items: list[ValueTree] = []
        walk.begin("array")
        first = self._pass()
        is_end, number = self._at(b"]"), 0
        while not is_end:
            self._gap(first)
            walk.path.append(number)
            self._way.append(number)
            items.append(self._value(walk.offset))
            self._way.pop()
            walk.path.pop()
            number += 1
            first, is_end = self._next(b"]")
        walk.offset += 1
        self._gap(first)
        walk.finish()
        return walk.built(items)

    def _scalar(self, first: int, begin: bytes) -> ValueTree:
        walk, start = self._walk, self._walk.offset
        if begin == b'"':
            text = self._string("a value")
            raw = walk.data[start : walk.offset].decode()
            return walk.leaf(first, "string", *((text, shown_text) if len(raw) > _LONG else (raw, str)))
        found = _NUMBER.match(walk.data, start, walk.end) or _WORD.match(walk.data, start, walk.end)
        if found is None:
            walk.stop("There is no value here" if begin else "The data ends before a value", "a value of JSON")
        walk.offset = found.end()
        words = "number" if found.re is _NUMBER else "null" if found[0] == b"null" else "boolean"
        return walk.leaf(first, words, found[0].decode(), str)

    def _string(self, expected: str) -> str:
        """Return the string that begins here."""
        walk, start = self._walk, self._walk.offset
        self._expect(b'"', expected)
        found = _CHARACTERS.match(walk.data, walk.offset, walk.end)
        end = walk.offset if found is None else found.end()
        if end > self._is_valid_to:
            walk.stop("The bytes are no UTF-8 there", "text in UTF-8", offset=self._is_valid_to)
        walk.offset = end
        if end == walk.end:
            walk.stop("The data ends inside a string", "the quote at the end of the string")
        if walk.data[end : end + 1] != b'"':
            is_escape = walk.data[end : end + 1] == b"\\"
            problem = "An escape that JSON does not have" if is_escape else "A control character in a string"
            walk.stop(problem, 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX' if is_escape else "an escape for it")
        walk.offset = end + 1
        return str(json.loads(walk.data[start : walk.offset]))

    # Brackets, commas, colons and white space.

    def _pass(self) -> int:
        """Go past a bracket and white space; return where the bracket is."""
        first = self._walk.offset
        self._walk.offset += 1
        self._skip_blank()
        return first

    def _next(self, closing: bytes) -> tuple[int, bool]:
        """Go to the next member or item, or to the closing bracket; return the end of the last, and whether it is."""
        first = self._walk.offset
        self._skip_blank()
        if self._at(closing):
            return first, True
        self._expect(b",", f"a comma or {closing.decode()}")
        self._skip_blank()
        return first, False

    def _skip_blank(self) -> None:
        found = _BLANK.match(self._walk.data, self._walk.offset, self._walk.end)
        self._walk.offset = self._walk.offset if found is None else found.end()

    def _at(self, sign: bytes) -> bool:
        return self._walk.left > 0 and self._walk.data.startswith(sign, self._walk.offset)

    def _expect(self, sign: bytes, expected: str) -> None:
        if not self._at(sign):
            problem = "There is something else here" if self._walk.left else "The data ends here"
            self._walk.stop(problem, expected)
        self._walk.offset += 1

    def _gap(self, first: int) -> None:
        """Note that the bytes from ``first`` to here are no value."""
        walk = self._walk
        if first < walk.offset:
            raw = walk.data[first : walk.offset]
            walk.leaf(first, "punctuation" if raw.strip() else "white space", raw.decode(), shown_text)


def _valid_to(walk: ByteWalk) -> int:
    """Return the offset of the first byte that is no UTF-8; the end if all are."""
    try:
        walk.data[walk.offset : walk.end].decode()
    except UnicodeDecodeError as error:
        return walk.offset + error.start
    return walk.end


def _steps(way: _Way) -> tuple[Step, ...]:
    return tuple(item(each) if isinstance(each, int) else named(member, each) for each in way)


# Whether a schema accepts a value: our evaluation in bounded time, then the validator of another project for the place.


def _failure(schema: JsonSchema, body: bytes, steps: Steps) -> ValidationFailure | None:
    """Return the first failure of a value; None if there is none, or if it is unknown."""
    try:
        return _first_failure(schema, _exact(body), steps)
    except (InvalidSchema, ValidatorRefuses, RecursionError, OutOfSteps):
        return None


def _first_failure(schema: JsonSchema, value: Json, steps: Steps) -> ValidationFailure | None:
    """Return the first failure of a value; raise an error where it is unknown."""
    check_validity(schema)
    if Evaluator(_MAX_LOOKS, remembers=False, steps=steps).accepts(root_of(schema), value) is True:
        return None
    return next(iter(SchemaValidator(schema).failures(value)), None)


def _exact(body: bytes) -> Json:
    return read_exact_json(body.decode())


def read_as(reader: JsonSchema, writer: JsonSchema, walked: WalkedBytes) -> ReadValue:
    """Return what a validator of another project says of a text for ``reader``; the value is the text's own."""
    del writer
    hidden = walked.hidden
    try:
        value = _exact(walked.body)
        failure = _first_failure(reader, value, walked.steps)
        said = failure or next(iter(SchemaValidator(reader).failures(value)), None)
    except OutOfSteps:
        return ReadValue(fault="whether the schema accepts the value cannot be decided within the limits")
    except (InvalidSchema, ValidatorRefuses, RecursionError) as refused:
        return ReadValue(fault=f"the validator cannot tell: {refused}")
    if said is not None:
        text = f"{step_in_words(said).render(is_start=False)} ({validator_name()})"
        return ReadValue(fault=text, path=path_text(_steps(said.path)))
    return ReadValue(text_of(MASKED if hidden.is_all else _withheld(value, hidden.names)))


def _withheld(value: Json, hidden: frozenset[str]) -> ValueTree:
    match value:
        case dict():
            return {name: MASKED if name in hidden else _withheld(each, hidden) for name, each in value.items()}
        case list():
            return [_withheld(each, hidden) for each in value]
    return print_exact(value)
