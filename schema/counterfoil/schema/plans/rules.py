"""The rules of a bridge document as typed values, and rules that a problem of a plan advises, as text.

The rules of a bridge document look like this::

    fields:
      trip_distance:  {from: distance_miles}                          # another name
      VendorID:       {from: vendor, lookup: {CMT: 1}, else: 0}       # a table; else: error (default), keep, or a value
      pickup_text:    {format: pickup_at, as: "yyyy-MM-dd HH:mm:ss", zone: UTC}
      pickup_at:      {parse: pickup_text, as: "yyyy-MM-dd", zone: UTC}
      miles:          {expr: km / 1.609344}
      passengers:     {from: passenger_count, null: 0}                # null: error, or a value
      full_name:      {join: [first, last], with: " "}
      first:          {split: {from: name, on: " ", take: 0}}
      origin:         {const: bridge}
      total_amount:   {from: total_amount, cast: float}
      price:          {from: amount, cast: string, decimals: 2}
      cents:          {from: amount, cast: long, times: 100, rounding: half-even}
      begun_at:       {from: begun, cast: timestamp-millis, unit: seconds}
      day:            {from: pickup_at, cast: date, zone: Europe/Paris}
      sent_at:        {parse: sent, as: rfc3339, rounding: floor, else: null}   # else without a table: where it fails
      size:           {expr: "if km > 10 then 'far' else 'near'"}
      card:           {expr: "hash(card, 'CARD_SALT')"}                # with a secret of the environment
      code:           {from: country, lookup: {de: 49}, ignore_case: true, else: error}
      codes[]:        {from: value, lookup: {NEW: FRESH}, else: keep} # each item of an array that is no record
      payment<Card>:  {to: <Payment>}                                 # a branch of a union; to: error, null, drop
      payment<Card>.number: {from: pan}
      method:         {branch: payment}                               # the name of the branch
    drop: [driver_note]                                               # or: drop: rest

One key is the source of the value; ``lookup``, ``cast`` and ``null`` may follow and are applied in this order. The
words ``error``, ``keep`` and ``rest`` have a special meaning; a value with the same spelling is written ``{const:
error}``. Paths lead into records with dots (``pickup.lat``), into the items of an array with ``[]`` (``stops[].lat``),
into the values of a map with ``{}``, and into a branch of the source's union with its name (``payment<Card>.pan``).
Below an array, a map or a branch, source paths start at the item, the value, or the branch's value; ``value`` is the
item itself if it is no record. A name with one of these signs is a JSON string: ``{from: '"a.b"'}``; in formulas also
a name such as ``"user-id"``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from typing import Final, TypeAlias

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.paths import InvalidPath
from counterfoil.schema.plans import ExpressionError, PlanError, shown
from counterfoil.schema.plans.cast_rules import CAST_WORDS, CastRule, parse_cast, rounding_of
from counterfoil.schema.plans.expressions import Expression, parse_expression
from counterfoil.schema.plans.formulas import BranchSegment, Path, source_path, spell, target_path
from counterfoil.schema.plans.model import Rounding, Scalar
from counterfoil.schema.plans.notation import MAX_DECIMALS, RFC3339, Pattern, check_zone, parse_pattern
from counterfoil.schema.plans.tree import Node
from counterfoil.schema.plans.types import casts, is_derived, needs_decimals, same_values, scalar_of, split_null, widens

# The rules of a bridge document, as typed values.

_MAX_PIECE: Final = 10_000
_PATH_EXPECTED: Final = (
    "a field, or a path such as pickup.lat; a name with a dot or bracket is written in double quotes"
)
_ORIGINS: Final = ("from", "join", "split", "expr", "const", "format", "parse", "branch")
FOLLOWING_BY_ORIGIN: Final = {
    "from": {"lookup", "ignore_case", "else", *CAST_WORDS, "null", "to"},
    "join": {"with", "lookup", "ignore_case", "else", *CAST_WORDS, "null", "to"},
    "split": {"lookup", "ignore_case", "else", *CAST_WORDS, "null", "to"},
    "expr": {"lookup", "ignore_case", "else", *CAST_WORDS, "null", "to"},
    "const": {"to"},
    "format": {"as", "zone", "lookup", "ignore_case", "else", "null", "to"},
    "parse": {"as", "zone", "rounding", "else", "null", "to"},
    "branch": {"lookup", "ignore_case", "else", "null"},
    "to": {"by", "else"},
}
"""The word of each source of a value, with the words that may stand beside it."""
_ALL_KEYS: Final = sorted({*FOLLOWING_BY_ORIGIN, *(key for keys in FOLLOWING_BY_ORIGIN.values() for key in keys)})


@dataclass(frozen=True, slots=True)
class From:
    """The source field at ``path``."""

    path: Path


@dataclass(frozen=True, slots=True)
class JoinOf:
    """Several source fields as one text."""

    parts: tuple[Path, ...]
    separator: str


@dataclass(frozen=True, slots=True)
class SplitOf:
    """One piece of a text field."""

    path: Path
    separator: str
    take: int


@dataclass(frozen=True, slots=True)
class Formula:
    """Arithmetic over source fields; ``text`` as written."""

    expression: Expression
    text: str


@dataclass(frozen=True, slots=True)
class Const:
    """A fixed value, as JSON."""

    value: Json


@dataclass(frozen=True, slots=True)
class FormatOf:
    """A date or a point in time as text."""

    path: Path
    pattern: Pattern
    zone: str


@dataclass(frozen=True, slots=True)
class ParseOf:
    """Text as a date or a point in time; ``rounding`` is that of digits that the type has not."""

    path: Path
    pattern: Pattern
    zone: str
    rounding: Rounding | None = None


@dataclass(frozen=True, slots=True)
class BranchOf:
    """The name of the branch that the union at ``path`` has."""

    path: Path


Origin: TypeAlias = From | JoinOf | SplitOf | Formula | Const | FormatOf | ParseOf | BranchOf


class Lost(Enum):
    """What becomes of the values of a branch that the target does not have."""

    ERROR = "error"
    """The record is a dead letter."""
    NULL = "null"
    DROP = "drop"
    """The item of an array, or the entry of a map, is left out."""


Destination: TypeAlias = BranchSegment | Lost
"""A branch of the target by its name, or what becomes of a value that has none."""


@dataclass(frozen=True, slots=True)
class ToRule:
    """The branch of the target that a value becomes.

    With ``by``, a source field, the branch is the one of the field's value in ``table``, else ``otherwise``.
    """

    destination: Destination | None = None
    by: Path = ()
    table: tuple[tuple[Json, Destination], ...] = ()
    otherwise: Destination = Lost.ERROR

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """All that a value may become, each once."""
        given = [self.destination] if self.destination is not None else [each for _, each in self.table]
        given += [] if self.destination is not None else [self.otherwise]
        return tuple(dict.fromkeys(given))


class Word(Enum):
    """What to do instead of returning a value."""

    ERROR = "error"
    KEEP = "keep"


Otherwise: TypeAlias = Word | Const


@dataclass(frozen=True, slots=True)
class LookupRule:
    """A table; ``otherwise`` is None when the rule has none, which is permitted only if the table has every value.

    With ``ignores_case``, keys and texts are compared in lower case.
    """

    table: tuple[tuple[Json, Json], ...]
    otherwise: Otherwise | None = None
    ignores_case: bool = False


@dataclass(frozen=True, slots=True)
class FieldRule:
    """How one target field is filled: the source of the value, and the steps that follow.

    ``failed`` is what a value becomes for which one of the steps fails.
    """

    target: Path
    spelt: str
    origin: Origin
    lookup: LookupRule | None = None
    cast: CastRule | None = None
    null: Otherwise | None = None
    failed: Const | None = None
    to: ToRule | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the rule says where the value goes, and not where it comes from: it is the branch's value."""
        return isinstance(self.origin, From) and not self.origin.path


class NumberMeaning(Enum):
    """What it means that two fields of Protobuf messages have one number and other names."""

    SAME = "same"
    """They are one field, unless a rule or a name uses the source field already."""
    ASK = "ask"
    """They may be one field: the plan is not complete until it is said."""
    ALL = "all"
    """They are one field, also if a rule uses the source field. Plans that are stored were derived so."""


@dataclass(frozen=True, slots=True)
class PlanRules:
    """All rules of one bridge. ``drop`` are paths of source fields.

    ``drop_rest`` drops every field that is not used; ``numbers`` is about fields that only have one number.
    ``rounds``: the ``decimals`` of a cast of decimals round; until version 0.2 they had no effect.
    """

    fields: tuple[FieldRule, ...] = ()
    drop: tuple[str, ...] = field(default=())
    drop_rest: bool = False
    numbers: NumberMeaning = NumberMeaning.SAME
    rounds: bool = True


def parse_rules(
    fields: Mapping[str, object], drop: object = None, *, numbers: NumberMeaning = NumberMeaning.SAME
) -> PlanRules:
    """Parse the rules from the parts ``fields`` and ``drop`` of a bridge document, given as plain values.

    ``drop`` is a list of source paths, the word ``rest``, or None. Raises ``PlanError`` for the first entry that
    cannot be read, with the target field. Whether the named fields exist is checked when a plan is derived.
    """
    if not isinstance(fields, Mapping):
        raise PlanError(f"{shown(fields)} is no mapping", field="fields", expected="target fields with their rules")
    rules = tuple(_field_rule(name, entry) for name, entry in fields.items())
    known: set[Path] = set()
    for name, rule in zip(fields, rules, strict=True):
        if rule.target in known:
            raise PlanError("there is another rule for this field", field=str(name), expected="one rule for each field")
        known.add(rule.target)
    dropped, rest = _dropped(drop)
    return PlanRules(rules, dropped, rest, numbers)


def _dropped(drop: object) -> tuple[tuple[str, ...], bool]:
    expected = "a list of source fields, or the word rest"
    if drop is None:
        return (), False
    if drop == "rest":
        return (), True
    if not isinstance(drop, Sequence) or isinstance(drop, (str, bytes)):
        raise PlanError(f"{shown(drop)} is no list", field="drop", expected=expected)
    return tuple(spell(_path(path, target_path, field="drop", what="field")) for path in drop), False


def _path(
    value: object, parse: Callable[[str], Path], *, field: str, what: str, expected: str = _PATH_EXPECTED
) -> Path:
    """Return the path that ``parse`` reads; raise ``PlanError`` for what is none."""
    try:
        if isinstance(value, str):
            return parse(value)
    except InvalidPath:
        pass
    raise PlanError(f"{shown(value)} is no {what}", field=field, expected=expected)


def _field_rule(name: object, entry: object) -> FieldRule:
    spelt = str(name)
    target = _path(name, target_path, field=spelt, what="target field")
    given = _entry(entry, spelt)
    origin_word = _origin_word(given, spelt)
    allowed = FOLLOWING_BY_ORIGIN[origin_word]
    for key in given:
        if key != origin_word and key not in allowed:
            raise PlanError(
                f"{key!r} cannot be combined with {origin_word!r}",
                field=spelt,
                expected=", ".join(sorted(allowed)) or "nothing else",
                word=key,
            )
    with _at_word(origin_word):
        origin = _origin(origin_word, given, spelt)
    with _at_word("lookup" if "lookup" in given else "else"):
        lookup = _lookup(given, spelt)
    with _at_word("cast"):
        cast = parse_cast(given, spelt) if allowed >= CAST_WORDS else None
    with _at_word("null"):
        null = _otherwise(given["null"], spelt, words=(Word.ERROR,)) if "null" in given else None
    with _at_word("to"):
        to = _to(given, spelt) if "to" in given else None
    failed = None if isinstance(given.get("to"), Mapping) else _failed(given, spelt)
    return FieldRule(target, spell(target), origin, lookup, cast, null, failed, to)


@contextmanager
def _at_word(word: str) -> Iterator[None]:
    """Name the word of the rule in errors that do not name one."""
    try:
        yield
    except PlanError as error:
        error.word = error.word or word
        raise


def _entry(entry: object, spelt: str) -> JsonObject:
    """Return the rule's keys; the keys ``null`` and ``on``, which YAML reads as values, become texts again."""
    if not isinstance(entry, Mapping):
        raise PlanError(f"{shown(entry)} is no rule", field=spelt, expected="such as {from: other_name}")
    given: JsonObject = {}
    for key, value in entry.items():
        word = "null" if key is None else key
        if word not in _ALL_KEYS:
            near = get_close_matches(str(word), _ALL_KEYS, n=2)
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            raise PlanError(
                f"there is no rule word {shown(word)}",
                field=spelt,
                expected=f"one of {', '.join(_ALL_KEYS)}{meant}",
                word=str(word),
            )
        if not _is_utf8(value):
            raise PlanError(
                f"{word} has half a surrogate pair", field=spelt, expected="text that UTF-8 can spell", word=word
            )
        given[word] = value
    return given


def _is_utf8(value: object) -> bool:
    """Return whether every text in a plain value can be encoded as UTF-8."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, Mapping):
        return all(_is_utf8(key) and _is_utf8(item) for key, item in value.items())
    return not isinstance(value, Sequence) or isinstance(value, bytes) or all(map(_is_utf8, value))


def _origin_word(given: Mapping[str, object], spelt: str) -> str:
    words = [word for word in _ORIGINS if word in given]
    if not words and "to" in given:
        return "to"
    if len(words) != 1:
        problem = f"{' and '.join(words)} are given together" if words else "nothing says where the value comes from"
        raise PlanError(problem, field=spelt, expected=f"one of {', '.join(_ORIGINS)}")
    return words[0]


def _origin(word: str, given: Mapping[str, object], spelt: str) -> Origin:
    value = given[word]
    if word == "to":
        return From(())
    if word == "branch":
        return BranchOf(_source_path(value, spelt))
    if word == "from":
        return From(_source_path(value, spelt))
    if word == "const":
        return Const(value)
    if word == "expr":
        return _formula(value, spelt)
    if word == "join":
        return _join(value, given.get("with", ""), spelt)
    if word == "split":
        return _split(value, spelt)
    pattern = given.get("as")
    if not isinstance(pattern, str):
        raise PlanError(f"{word} needs a pattern", field=spelt, expected="such as as: yyyy-MM-dd HH:mm:ss")
    is_rfc3339 = pattern == RFC3339.spelt
    with _at_word("zone"):
        zone = check_zone(str(given["zone"]), field=spelt) if "zone" in given else "" if is_rfc3339 else "UTC"
    with _at_word("as"):
        parsed = RFC3339 if is_rfc3339 else parse_pattern(pattern, field=spelt)
    path = _source_path(value, spelt)
    return FormatOf(path, parsed, zone) if word == "format" else ParseOf(path, parsed, zone, rounding_of(given, spelt))


def _source_path(value: object, spelt: str) -> Path:
    return _path(value, source_path, field=spelt, what="source field")


def _formula(value: object, spelt: str) -> Formula:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise PlanError(f"{shown(value)} is no formula", field=spelt, expected="such as expr: km / 1.609344")
    try:
        return Formula(parse_expression(str(value)), str(value))
    except ExpressionError as error:
        raise error.under(spelt) from None


def _join(parts: object, separator: object, spelt: str) -> JoinOf:
    if not isinstance(parts, Sequence) or isinstance(parts, str) or not parts:
        raise PlanError(f"{shown(parts)} cannot be joined", field=spelt, expected="a list such as [first, last]")
    if not isinstance(separator, str):
        raise PlanError(f"with: {shown(separator)} is no text", field=spelt, expected='such as with: " "', word="with")
    return JoinOf(tuple(_source_path(part, spelt) for part in parts), separator)


def _split(value: object, spelt: str) -> SplitOf:
    expected = 'such as {from: name, on: " ", take: 0}'
    if not isinstance(value, Mapping):
        raise PlanError(f"{shown(value)} cannot be split", field=spelt, expected=expected)
    given = {"on" if key is True else key: part for key, part in value.items()}
    if set(given) != {"from", "on", "take"}:
        raise PlanError(f"split has {', '.join(map(str, given)) or 'nothing'}", field=spelt, expected=expected)
    separator, take = given["on"], given["take"]
    if not isinstance(separator, str) or not separator:
        raise PlanError(f"on: {shown(separator)} separates nothing", field=spelt, expected="a text")
    if isinstance(take, bool) or not isinstance(take, int) or abs(take) > _MAX_PIECE:
        raise PlanError(f"take: {shown(take)} is no piece", field=spelt, expected="a number from 0, or back from -1")
    return SplitOf(_source_path(given["from"], spelt), separator, take)


_DESTINATION: Final = "a branch such as <Card>, or error, null or drop"


def _to(given: Mapping[str, object], spelt: str) -> ToRule:
    """Return where a value goes: to one branch, or by the value of a field to one of several."""
    value = given["to"]
    if not isinstance(value, Mapping):
        if "by" in given:
            raise PlanError("by has no table beside it", field=spelt, expected="to: {CARD: <Card>}", word="by")
        if "else" in given and not any(word in given for word in _ORIGINS):
            raise PlanError("else has no table beside it", field=spelt, expected="to: {CARD: <Card>}", word="else")
        return ToRule(_destination(value, spelt))
    if "by" not in given or not value:
        expected = "such as {by: kind, to: {CARD: <Card>}}"
        raise PlanError(f"to: {shown(value)} has no field beside it", field=spelt, expected=expected)
    table = tuple((key, _destination(each, spelt)) for key, each in value.items())
    otherwise = _destination(given["else"], spelt) if "else" in given else Lost.ERROR
    return ToRule(None, _source_path(given["by"], spelt), table, otherwise)


def _destination(value: object, spelt: str) -> Destination:
    if value is None or value in [each.value for each in Lost]:
        return Lost("null" if value is None else value)
    segments = _path(value, target_path, field=spelt, what="branch", expected=_DESTINATION)
    if len(segments) != 1 or not isinstance(segments[0], BranchSegment):
        raise PlanError(f"to: {shown(value)} is no branch", field=spelt, expected=_DESTINATION)
    return segments[0]


def _lookup(given: Mapping[str, object], spelt: str) -> LookupRule | None:
    ignores_case = given.get("ignore_case", False)
    if not isinstance(ignores_case, bool):
        raise PlanError(
            f"ignore_case: {shown(ignores_case)}", field=spelt, expected="true or false", word="ignore_case"
        )
    if "lookup" not in given:
        if "ignore_case" in given:
            raise PlanError("ignore_case has no lookup beside it", field=spelt, expected="lookup: {...}")
        return None
    table = given["lookup"]
    if not isinstance(table, Mapping) or not table:
        raise PlanError(f"lookup: {shown(table)} is no table", field=spelt, expected="such as lookup: {CMT: 1}")
    if "decimals" in given:
        raise PlanError("a looked-up value has no decimals", field=spelt, expected="lookup or decimals")
    otherwise = _otherwise(given["else"], spelt, words=tuple(Word)) if "else" in given else None
    return LookupRule(tuple(table.items()), otherwise, ignores_case)


def _failed(given: Mapping[str, object], spelt: str) -> Const | None:
    """Return what a value becomes that fails; beside a table, ``else`` is about its keys."""
    if "else" not in given or "lookup" in given:
        return None
    with _at_word("else"):
        found = _otherwise(given["else"], spelt, words=tuple(Word))
        if found is Word.KEEP:
            raise PlanError("else: keep has no lookup beside it", field=spelt, expected="error, null, or a value")
    return found if isinstance(found, Const) else None


def _otherwise(value: object, spelt: str, *, words: tuple[Word, ...]) -> Otherwise:
    if isinstance(value, Mapping):
        if set(value) != {"const"}:
            raise PlanError(f"{shown(value)} is no value", field=spelt, expected="a value, or {const: value}")
        return Const(value["const"])
    for word in words:
        if value == word.value:
            return word
    return Const(value)


# Rules that a problem of a plan advises: written as they are copied into a bridge file, and accepted there.

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_YAML_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_SOME_DECIMALS: Final = 2


def rule_text(rule: Mapping[str, object]) -> str:
    """Return a rule as a bridge document writes it.

    >>> rule_text({"from": "user.id", "cast": "string", "null": 0})
    '{from: user.id, cast: string, null: 0}'
    """
    return f"{{{', '.join(f'{word}: {_yaml(value)}' for word, value in rule.items())}}}"


def _yaml(value: object) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _YAML_WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def decimals_of(target: Scalar) -> int:
    """Return the decimals that an advised cast of a real number has."""
    return min(target.scale, MAX_DECIMALS) if target.word == "decimal" else _SOME_DECIMALS


def cast_words(source: Scalar, target: Scalar) -> JsonObject:
    """Return the words of a rule that casts a value."""
    decimals = {"decimals": decimals_of(target)} if needs_decimals(source, target) else {}
    return {"cast": target.word, **decimals}


def rule_that_fits(spelt: str, source: Node, target: Node, *, is_nullable: bool) -> JsonObject | None:
    """Return the rule that fills a field of ``target`` from the field at the path ``spelt``; None if there is none."""
    takes_null, wanted = split_null(target)
    _, given = split_null(source)
    if given is None or wanted is None:
        return None
    null = {"null": "error"} if is_nullable and not takes_null else {}
    if same_values(given, wanted):
        return {"from": spelt, **null}
    left, right = scalar_of(given), scalar_of(wanted)
    if left is None or right is None:
        return None
    if widens(left, right) or is_derived(left, right):
        return {"from": spelt, **null}
    return {"from": spelt, **cast_words(left, right), **null} if casts(left, right) else None
