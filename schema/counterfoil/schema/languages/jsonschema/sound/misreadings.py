"""Values that both schemas accept and to which the reader gives another meaning, by their annotations."""

from __future__ import annotations

import base64
import binascii
import json
import quopri
import re
import struct
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import chain, islice
from typing import Final, NamedTuple, TypeAlias

from counterfoil.schema.compatibility import OutOfSteps, Steps
from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.compare import rule_table as rules
from counterfoil.schema.languages.jsonschema.compare.findings import ValueDifference
from counterfoil.schema.languages.jsonschema.json_values import type_of
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.values.samples import Sampler, Step
from counterfoil.schema.languages.jsonschema.values.solver import Solver
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, spread
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.paths import FieldPath, StepKind
from counterfoil.schema.paths import Step as PathStep
from counterfoil.schema.texts import Pointer, excerpt

# The meaning that ``format``, ``contentEncoding`` and ``contentMediaType`` give to a string or a number.
#
# Validators refuse nothing because of these keywords, but programs use them. If both schemas have such a keyword with
# different values, a value may be read with another meaning. A keyword that only one side has is ignored: it was added
# or removed as documentation.
#
# Source: JSON Schema 2020-12 Validation, sections 7 and 8; the number formats of OpenAPI 3; RFC 4648.

_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME: Final = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
_EXAMPLES_BY_FORMAT: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "date-time": (f"{_DATE}[Tt]{_TIME}", ("2024-05-01T12:34:56Z", "2024-05-01T12:34:56.789+02:00")),
    "date": (_DATE, ("2024-05-01", "1999-12-31")),
    "time": (_TIME, ("12:34:56Z", "23:59:59.5+02:00")),
    "duration": (r"P(?=.)[0-9YMWDTHS.]*", ("P1DT2H", "P3W")),
    "email": (r"[!-~]+@[!-~]+", ("ann@example.org",)),
    "idn-email": (r"\S+@\S+", ("änn@example.org",)),
    "hostname": (r"[A-Za-z0-9.-]+", ("www.example.org",)),
    "idn-hostname": (r"[\w.-]+", ("www.exämple.org",)),
    "ipv4": (r"[0-9]{1,3}(\.[0-9]{1,3}){3}", ("192.0.2.1",)),
    "ipv6": (r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", ("2001:db8::1",)),
    "uri": (r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]*", ("https://example.org/a",)),
    "uri-reference": (r"[!-~]*", ("../a",)),
    "iri": (r"[A-Za-z][A-Za-z0-9+.-]*:\S*", ("https://exämple.org/a",)),
    "iri-reference": (r"\S*", ("../ä",)),
    "uri-template": (r"[!-~]*", ("/a/{b}",)),
    "uuid": (r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", ("6f1c2a34-5b6d-4e7f-8a9b-0c1d2e3f4a5b",)),
    "json-pointer": (r"(/[^/]*)*", ("/a/0",)),
    "relative-json-pointer": (r"[0-9]+(#|(/[^/]*)*)", ("1/a",)),
    "regex": (r".*", ("^a+$",)),
}
"""The approximate pattern of each format's values, with examples."""
_WIDENED: Final = frozenset(
    {
        ("email", "idn-email"),
        ("hostname", "idn-hostname"),
        ("uri", "uri-reference"),
        ("uri", "iri"),
        ("uri", "iri-reference"),
        ("uri-reference", "iri-reference"),
        ("iri", "iri-reference"),
        ("uri", "uri-template"),
        ("uri-reference", "uri-template"),
    }
)
"""Pairs of a writer's and a reader's format in which every value of the first has the same meaning in the second."""

_INT_RANGES: Final = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}
_EXAMPLES_BY_NUMBER_FORMAT: Final[Mapping[str, Sequence[Json]]] = {
    "int32": (16_777_217, -1),
    "int64": (2**53 + 1, -1),
    "float": (Decimal("1.5"), 3),
    "double": (Decimal("0.1"), 3),
}

_SAME_TEXT: Final = frozenset({"7bit", "8bit", "binary"})
_ENCODED: Final = "DEADBEEF"  # a valid text in every encoding
_DECODER_BY_ENCODING: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    **dict.fromkeys(_SAME_TEXT, bytes),
    "quoted-printable": quopri.decodestring,
    "base16": base64.b16decode,
    "base32": base64.b32decode,
    "base32hex": base64.b32hexdecode,
    "base64": lambda text: base64.b64decode(text, validate=True),
    "base64url": base64.urlsafe_b64decode,
}


class Annotation(NamedTuple):
    """A keyword that applies to a value, its word in lower case, and its place.

    ``steps`` lead from the root to the schema with the keyword, through references, as in a difference's path;
    ``pointer`` is its place in the schema's own text, empty if it is in another document.
    """

    keyword: str
    word: str
    steps: tuple[str, ...]
    pointer: Pointer


def examples_of(annotation: Annotation) -> Sequence[Json]:
    """Return example values for an annotation; empty for an unknown one or one without special values."""
    if annotation.keyword == "format":
        if annotation.word in _EXAMPLES_BY_NUMBER_FORMAT:
            return _EXAMPLES_BY_NUMBER_FORMAT[annotation.word]
        return _EXAMPLES_BY_FORMAT.get(annotation.word, ("", ()))[1]
    if annotation.keyword == "contentEncoding" and annotation.word in _DECODER_BY_ENCODING:
        return (_ENCODED, "=41b") if annotation.word == "quoted-printable" else (_ENCODED,)
    return ()


def misreadings(
    value: object, written: Sequence[Annotation], read: Sequence[Annotation]
) -> Iterator[tuple[Annotation, Annotation, str]]:
    """Yield the misreadings of a value: the writer's annotation, the reader's, and a text ``A is read as B``.

    ``written`` and ``read`` are the annotations of the two schemas. If one annotation of the writer has the reader's
    meaning, there is no misreading.
    """
    for mine in read:
        same = [theirs for theirs in written if theirs.keyword == mine.keyword]
        texts = [_misread(value, theirs, mine) for theirs in same]
        found_texts = [(theirs, text) for theirs, text in zip(same, texts, strict=True) if text]
        if found_texts and len(found_texts) == len(same):
            yield found_texts[0][0], mine, found_texts[0][1]


def are_other_meanings(keyword: str, written: str, read: str) -> bool:
    """Return whether a keyword with these values of the writer and the reader may give one value two meanings."""
    if written == read:
        return False
    match keyword:
        case "contentMediaType":
            return not _is_media_kept(written, read)
        case "contentEncoding":
            return {written, read} <= _DECODER_BY_ENCODING.keys()
    is_of_texts = {written, read} <= _EXAMPLES_BY_FORMAT.keys() and (written, read) not in _WIDENED
    return is_of_texts or {written, read} <= _EXAMPLES_BY_NUMBER_FORMAT.keys()


def _misread(value: object, written: Annotation, read: Annotation) -> str:
    """Return the description of a misreading; empty if the meaning is the same or unknown."""
    if not are_other_meanings(written.keyword, written.word, read.word):
        return ""
    if written.keyword == "contentMediaType":
        return f"{_shown(value)}, of media type {written.word}, is read as {read.word}"
    if not isinstance(value, str):
        return _number_misread(value, written.word, read.word) if written.keyword == "format" else ""
    if written.keyword == "contentEncoding":
        return _bytes_misread(value, written.word, read.word)
    return _text_misread(value, written.word, read.word)


def _text_misread(value: str, written: str, read: str) -> str:
    known = _EXAMPLES_BY_FORMAT.get(written)
    if known is None or re.fullmatch(known[0], value) is None:
        return ""  # the value does not fit the writer's format
    return f"the {written} {_shown(value)} is read as a {read}"


def _number_misread(value: object, written: str, read: str) -> str:
    if written not in _EXAMPLES_BY_NUMBER_FORMAT:
        return ""
    theirs, mine = _as_number(value, written), _as_number(value, read)
    if theirs is None or theirs == mine:
        return ""
    return f"{value} is read as {f'no {read}' if mine is None else mine}"


def _as_number(value: Json, word: str) -> Json:
    """Return the number as a program stores it in a format; None if it cannot."""
    if word in _INT_RANGES:
        return value if value == int(value) and int(value) in _INT_RANGES[word] else None
    try:
        return float(value) if word == "double" else float(struct.unpack("<f", struct.pack("<f", float(value)))[0])
    except OverflowError:
        return None


def _bytes_misread(value: str, written: str, read: str) -> str:
    theirs = _decoded(value, written)
    if theirs is None:
        return ""
    mine = _decoded(value, read)
    if theirs == mine:
        return ""
    shown = f"no {read}" if mine is None else f"{mine.hex()} by {read}"
    return f"{_shown(value)}, the bytes {theirs.hex()} by {written}, is read as {shown}"


def _decoded(value: str, encoding: str) -> bytes | None:
    """Return the bytes of an encoded string; None if it is not valid in that encoding."""
    try:
        return _DECODER_BY_ENCODING[encoding](value.encode())
    except (binascii.Error, ValueError):
        return None


def _is_media_kept(written: str, read: str) -> bool:
    """Return whether every document of the writer's media type also has the reader's media type."""
    theirs, mine = _essence(written), _essence(read)
    is_wider = mine == "application/octet-stream" or (mine == "text/plain" and theirs.startswith("text/"))
    return is_wider or theirs == mine or theirs.endswith("+" + mine.rpartition("/")[2])


def _essence(media_type: str) -> str:
    """Return a media type without parameters."""
    return media_type.partition(";")[0].strip()


def _shown(value: object) -> str:
    return excerpt(json.dumps(value, ensure_ascii=False, default=str))


# The annotations of a schema on the parts of a value: ``format`` and how a string is encoded.
#
# Only those that apply to the value are collected: of a combination the branches that the value fits, of a condition
# the side that applies.
#
# Source: JSON Schema 2020-12, "Annotations", and the vocabularies for ``format`` and for contents.

KEYWORDS: Final = ("format", "contentEncoding", "contentMediaType")
"""The keywords that state what a value means; they refuse no value."""

_MAX_DEPTH: Final = 60
"""The largest number of schemas that are entered one inside the other for one value."""

Path: TypeAlias = tuple[str | int, ...]


def has_annotations(schema: JsonSchema) -> bool:
    """Return whether the schema or its references may contain one of ``KEYWORDS``; False is certain."""
    if any(f'"{keyword}"' in schema.text for keyword in KEYWORDS) or "\\" in schema.text:  # keys may be escaped
        return True
    waiting: list[Json] = [*schema.references.values()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if not value.keys().isdisjoint(KEYWORDS):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


def word_of(site: WrittenSchema, keyword: str) -> str:
    """Return the value of one of ``KEYWORDS`` in a schema, in lower case; empty if absent."""
    word = site.keywords.get(keyword)
    return word.lower() if isinstance(word, str) else ""


def inside(site: WrittenSchema, step: str | int) -> Iterator[WrittenSchema]:
    """Yield the schemas that certainly apply to a property or an item of a value."""
    found: Iterable[ConstrainedSchema | None] = (
        [site.facts.item(step)] if isinstance(step, int) else site.facts.property(step)
    )
    yield from (one for one in found if isinstance(one, WrittenSchema))


def annotations_of(value: object, root: WrittenSchema, evaluator: Evaluator) -> dict[Path, list[Annotation]]:
    """Return the annotations on ``value``, which fits ``root``, and on its parts, by path.

    Raises ``OutOfSteps``.
    """
    found: dict[Path, list[Annotation]] = {}
    for path, annotation in _Walk(evaluator).annotations(value, _At(root), 0):
        found.setdefault(path, []).append(annotation)
    return found


class _At(NamedTuple):
    """A schema, the steps that lead to it, and the path of the value to which it applies."""

    site: WrittenSchema
    steps: tuple[str, ...] = ()
    path: Path = ()

    def enter(self, site: WrittenSchema, *path: str | int) -> _At:
        """Return the position of a schema inside this one, for the same value or a part of it."""
        added = map(str, site.base.pointer[len(self.site.base.pointer) :])
        return _At(site, (*self.steps, *added), (*self.path, *path))


class _Walk:
    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def annotations(self, value: object, at: _At, depth: int) -> Iterator[tuple[Path, Annotation]]:
        """Yield every annotation of the schema on ``value`` and on its parts, with its path."""
        self._evaluator.spend()
        site = at.site
        if depth > _MAX_DEPTH or not isinstance(site.value, dict):
            return
        for keyword in KEYWORDS:
            word = word_of(site, keyword)
            if word and type_of(value) in ("string", "number"):
                pointer = () if site.base.document else site.base.pointer
                yield at.path, Annotation(keyword, word, at.steps, pointer)
        for other in site.referred:
            yield from self.annotations(value, at._replace(site=other), depth + 1)
        for other in self._beside(value, site):
            yield from self.annotations(value, at.enter(other), depth + 1)
        for step, item in _parts(value):
            for one in inside(site, step):
                yield from self.annotations(item, at.enter(one, step), depth + 1)

    def _beside(self, value: object, site: WrittenSchema) -> Iterator[WrittenSchema]:
        """Yield the other schemas inside this one that apply to the same value."""
        yield from site.children("allOf")
        for keyword in ("anyOf", "oneOf"):
            yield from (one for one in site.children(keyword) if self._evaluator.may_accept(one, value))
        condition = site.one("if")
        if condition is not None:
            is_met = self._evaluator.may_accept(condition, value)
            chosen = site.one("then" if is_met else "else")
            yield from [condition] if is_met else []
            yield from [chosen] if chosen else []
        if isinstance(value, dict):
            needed = site.facts.needed_schemas.items()
            yield from (one for name, one in needed if name in value and isinstance(one, WrittenSchema))


def _parts(value: object) -> list[tuple[str | int, Json]]:
    """Return the properties or items of a value with their names or indexes; empty for a scalar."""
    if isinstance(value, dict):
        return [*value.items()]
    return [*enumerate(value)] if isinstance(value, list) else []


# The places in a value at which two schemas may have different annotations, found in the texts without any value.
#
# All schemas that may apply to a part of the value are taken together, from all branches. Therefore an empty result is
# certain.

MAX_COMPARED_PLACES: Final = 2_000
"""The largest number of places that are compared."""

_MAX_INSIDE: Final = 3
"""How many steps inside a path every place is looked at, also of a schema that was compared at another place."""
_OF_NAMES: Final = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS: Final = ("items", "additionalItems", "unevaluatedItems")


def places_of_other_meanings(
    reader: JsonSchema, writer: JsonSchema, *, along: FieldPath | None = None
) -> list[tuple[Step, ...]]:
    """Return the places in a value at which ``reader`` may give it another meaning than ``writer``.

    There are no others. If more than ``MAX_PLACES`` are compared, the root is added for the rest. A pair of schemas is
    compared at its first place alone; with ``along``, at every place on that path and inside.
    """
    if not (has_annotations(reader) and has_annotations(writer)):
        return []
    found: list[tuple[Step, ...]] = []
    waiting: deque[tuple[tuple[Step, ...], list[WrittenSchema], list[WrittenSchema]]] = deque(
        [((), [root_of(reader)], [root_of(writer)])]
    )
    seen: set[object] = set()
    wanted = None if along is None else [step for step in along if step.kind is not StepKind.BRANCH]
    while waiting:
        steps, mine, theirs = waiting.popleft()
        reading, writing = ([one for one in spread(side) if isinstance(one, WrittenSchema)] for side in (mine, theirs))
        sides = (frozenset(map(id, reading)), frozenset(map(id, writing)))
        is_deep = wanted is not None and len(steps) <= len(wanted) + _MAX_INSIDE
        key = (sides, steps) if is_deep else sides
        if not all(sides) or key in seen:
            continue
        seen.add(key)
        if len(seen) > MAX_COMPARED_PLACES:
            return [*found, ()]
        if _say_other_things(reading, writing):
            found.append(steps)
        on_path = wanted[len(steps)] if wanted is not None and len(steps) < len(wanted) else None
        for step, mine, theirs in _inside(reading, writing):
            if on_path is None or _is_on(on_path, step):
                waiting.append(((*steps, step), mine, theirs))
    return found


def _is_on(read: PathStep, step: Step) -> bool:
    """Return whether a step into a value may be a step of a path; None stands for other properties or items."""
    if step is None:
        return True
    if isinstance(step, int):
        return read.kind is StepKind.ITEM
    return read.kind is StepKind.VALUE or (read.kind is StepKind.MEMBER and read.name == step)


def _say_other_things(reader: list[WrittenSchema], writer: list[WrittenSchema]) -> bool:
    for keyword in KEYWORDS:
        written = {word for site in writer if (word := word_of(site, keyword))}
        read = {word for site in reader if (word := word_of(site, keyword))}
        if any(are_other_meanings(keyword, theirs, mine) for theirs in written for mine in read):
            return True
    return False


def _inside(
    reader: list[WrittenSchema], writer: list[WrittenSchema]
) -> Iterator[tuple[Step, list[WrittenSchema], list[WrittenSchema]]]:
    """Yield the places inside a value: each declared property, other properties, each listed item, other items.

    A place is a step with the schemas of both sides there; the step is None for other properties and items.
    """
    sides = (reader, writer)
    names = dict.fromkeys(name for side in sides for site in side for name, _ in site.named("properties"))
    for name in names:
        mine, theirs = ([one for site in side for one in inside(site, name)] for side in sides)
        yield name, mine, theirs
    mine, theirs = ([one for site in side for one in _others(site)] for side in sides)
    yield None, mine, theirs
    for index in range(max(len(site.facts.prefix) for side in sides for site in side)):
        mine, theirs = ([one for site in side for one in inside(site, index)] for side in sides)
        yield index, mine, theirs
    mine, theirs = ([one for site in side for one in _rest(site)] for side in sides)
    yield None, mine, theirs


def _others(site: WrittenSchema) -> Iterator[WrittenSchema]:
    yield from (one for _, one in site.named("patternProperties"))
    yield from (one for keyword in _OF_NAMES if (one := site.one(keyword)))


def _rest(site: WrittenSchema) -> Iterator[WrittenSchema]:
    yield from (one for keyword in _OF_ITEMS if (one := site.one(keyword)))


# Values that both schemas accept and to which the reader gives another meaning: an addition of the policy SOUND.
#
# They are searched for among generated values, in which each part with a known format or encoding is replaced by an
# example of it.

MAX_VALUES: Final = 60
"""The largest number of generated values that vary everywhere."""
VALUES_A_PLACE: Final = 4
"""The number of values that are generated for each place with two possible meanings."""
MAX_PLACES: Final = 50
"""The largest number of such places for which values are generated."""
MAX_LOOKS: Final = 40_000
_MAX_LOOKS_A_VALUE: Final = 4_000


@dataclass(frozen=True, slots=True)
class JsonMisreading:
    """A value to which the reader gives another meaning: the whole ``value``, and the ``path`` to the part concerned.

    ``written`` and ``read`` are the two annotations; ``text`` is like ``the date "2024-05-01" is read as a time``.
    """

    value: Json
    path: Path
    written: Annotation
    read: Annotation
    text: str

    def difference(self) -> ValueDifference:
        """Return the finding of SOUND."""
        keyword = self.read.keyword
        rule = rules.FORMAT_MISREAD if keyword == "format" else rules.CONTENT_MISREAD
        steps = (*self.read.steps, keyword)
        facts = {"keyword": keyword, "reader": self.read.word, "writer": self.written.word}
        pointers = ((*self.read.pointer, keyword), (*self.written.pointer, keyword))
        return ValueDifference(rule, facts, "{writer} as {reader}", steps, pointers, is_called_by_pointer=True)


class Meanings:
    """The comparison of the meanings that two schemas give to values."""

    def __init__(self, reader: JsonSchema, writer: JsonSchema, along: FieldPath | None = None) -> None:
        self.reader = root_of(reader)
        self.writer = root_of(writer)
        self._shown: Counter[Annotation] = Counter()
        self.places = places_of_other_meanings(reader, writer, along=along)[:MAX_PLACES]
        """The steps to the places at which meanings may differ, the nearest first."""

    def telling(self, value: object) -> Json:
        """Return ``value`` with its annotated parts replaced by examples, as far as the writer accepts the result."""
        if not self.places:
            return value
        evaluator = Evaluator(_MAX_LOOKS_A_VALUE)
        try:
            examples = [
                (path, self._example(notes)) for path, notes in annotations_of(value, self.writer, evaluator).items()
            ]
            known = [(path, example) for path, example in examples if example is not None]
            changed = reduce(lambda whole, one: _with(whole, *one), known, value)
            if evaluator.may_accept(self.writer, changed):
                return changed
            for one in known:
                changed = _with(value, *one)
                value = changed if evaluator.may_accept(self.writer, changed) else value
        except OutOfSteps:
            pass
        return value

    def _example(self, notes: Sequence[Annotation]) -> Json:
        """Return the next example for the annotations ``notes``; None if none of them is known."""
        examples = next(filter(None, map(examples_of, notes)), ())
        number = self._shown[notes[0]]
        self._shown[notes[0]] += 1
        return examples[number % len(examples)] if examples else None

    def misreadings(self, value: object) -> Iterator[JsonMisreading]:
        """Yield each part of ``value``, which both schemas accept, to which the reader gives another meaning."""
        if not self.places:
            return
        evaluator = Evaluator(_MAX_LOOKS_A_VALUE)
        try:
            written, read = (annotations_of(value, root, evaluator) for root in (self.writer, self.reader))
        except OutOfSteps:
            return
        for path, notes in read.items():
            part = _at(value, path)
            for theirs, mine, text in misreadings(part, written.get(path, ()), notes):
                yield JsonMisreading(value, path, theirs, mine, text)


def find_misreadings(
    reader: JsonSchema, writer: JsonSchema, *, along: FieldPath | None = None, steps: Steps | None = None
) -> list[JsonMisreading]:
    """Return values of ``writer`` that ``reader`` accepts and misreads, one for each place and keyword.

    With a path as ``along``, values for each place there and inside are searched for, also of a schema that is used at
    several places. ``steps``, if given, are those of the judgement: raises ``OutOfSteps`` if they do not suffice.
    """
    meanings = Meanings(reader, writer, along)
    if not meanings.places:
        return []
    evaluator = Evaluator(MAX_LOOKS, steps=steps)
    solver = Solver(evaluator, trusts_unknown=True)
    found: dict[tuple[str, str], JsonMisreading] = {}
    sides = ([(meanings.writer, True)], [meanings.reader])
    ways = [islice(Sampler(solver).values(*sides, steps), VALUES_A_PLACE) for steps in meanings.places]
    try:
        for value in chain(*ways, islice(Sampler(solver).values(*sides), MAX_VALUES)):
            changed = meanings.telling(value)
            if evaluator.may_accept(meanings.reader, changed):
                for each in meanings.misreadings(changed):
                    difference = each.difference()
                    found.setdefault((difference.path, difference.detail), each)
    except (OutOfSteps, ArithmeticError, RecursionError):
        pass  # what has been found until here is certain
    if steps is not None:
        steps.spend(0)
    return list(found.values())


def _at(value: Json, path: Path) -> Json:
    for step in path:
        value = value[step]
    return value


def _with(value: Json, path: Path, part: Json) -> Json:
    """Return ``value`` with ``part`` at ``path``."""
    if not path:
        return part
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, step: _with(value[step], rest, part)}
    return [_with(item, rest, part) if index == step else item for index, item in enumerate(value)]
