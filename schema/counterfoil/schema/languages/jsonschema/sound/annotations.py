"""The annotations of schemas, ``format`` and how strings are encoded: their places and their meaning."""

from __future__ import annotations

import base64
import binascii
import json
import quopri
import re
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from counterfoil.schema.languages.jsonschema.json_values import type_of
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema
from counterfoil.schema.texts import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from counterfoil.schema.languages.jsonschema.schema import JsonSchema
    from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
    from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema
    from counterfoil.schema.texts import Pointer


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
_EXAMPLES_BY_NUMBER_FORMAT: Final[Mapping[str, Sequence[Any]]] = {
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


def examples_of(annotation: Annotation) -> Sequence[Any]:
    """Return example values for an annotation; empty for an unknown one or one without special values."""
    if annotation.keyword == "format":
        if annotation.word in _EXAMPLES_BY_NUMBER_FORMAT:
            return _EXAMPLES_BY_NUMBER_FORMAT[annotation.word]
        return _EXAMPLES_BY_FORMAT.get(annotation.word, ("", ()))[1]
    if annotation.keyword == "contentEncoding" and annotation.word in _DECODER_BY_ENCODING:
        return (_ENCODED, "=41b") if annotation.word == "quoted-printable" else (_ENCODED,)
    return ()


def misreadings(
    value: Any, written: Sequence[Annotation], read: Sequence[Annotation]
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


def _misread(value: Any, written: Annotation, read: Annotation) -> str:
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


def _number_misread(value: Any, written: str, read: str) -> str:
    if written not in _EXAMPLES_BY_NUMBER_FORMAT:
        return ""
    theirs, mine = _as_number(value, written), _as_number(value, read)
    if theirs is None or theirs == mine:
        return ""
    return f"{value} is read as {f'no {read}' if mine is None else mine}"


def _as_number(value: Any, word: str) -> Any:
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


def _shown(value: Any) -> str:
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
    waiting: list[Any] = [*schema.references.values()]
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


def annotations_of(value: Any, root: WrittenSchema, evaluator: Evaluator) -> dict[Path, list[Annotation]]:
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

    def annotations(self, value: Any, at: _At, depth: int) -> Iterator[tuple[Path, Annotation]]:
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

    def _beside(self, value: Any, site: WrittenSchema) -> Iterator[WrittenSchema]:
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


def _parts(value: Any) -> list[tuple[str | int, Any]]:
    """Return the properties or items of a value with their names or indexes; empty for a scalar."""
    if isinstance(value, dict):
        return [*value.items()]
    return [*enumerate(value)] if isinstance(value, list) else []
