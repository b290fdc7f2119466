"""Suggestions of rules for what is open in a plan, by names, types and counted values, with evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Final

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.plans import PlanError
from counterfoil.schema.plans import value_counts as distributions
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.formulas import Path, scope_of, spell, spell_in_formula, target_path
from counterfoil.schema.plans.model import ConversionPlan, ProblemKind, Scalar
from counterfoil.schema.plans.rules import PlanRules, cast_words, parse_rules
from counterfoil.schema.plans.scopes import SourceScope
from counterfoil.schema.plans.tree import NotPlannable, RecordType, tree_of
from counterfoil.schema.plans.types import (
    NUMERIC,
    WHOLE,
    casts,
    is_derived,
    is_instant,
    same_values,
    scalar_of,
    split_null,
    ticks_per_second,
)
from counterfoil.schema.plans.types import widens as is_wider
from counterfoil.schema.plans.value_counts import FieldCounts
from counterfoil.schema.sketch.model import PlaceSketch
from counterfoil.schema.units import differ_in_unit, factor_between_names, stem_of, units_of, words_of

# Suggestions from counted values: fields with the same values, other units, other codes, joined and split texts.

_LEAST_COMMON: Final = 0.8
"""The share of values that two fields of different names must have in common."""
_CLEARLY: Final = 0.15
"""How much more alike the best of several fields must be."""
_OTHER_VALUES: Final = 0.2
_TICKS_A_SECOND_OF_MILLIS: Final = 1000
_TEXTS: Final = frozenset({"string", "enum"})


@dataclass(frozen=True, slots=True)
class CountedSamples:
    """The counted values of the fields of source and target; either may be empty."""

    source: FieldCounts = field(default_factory=dict)
    target: FieldCounts = field(default_factory=dict)

    def pair(self, source: Path, target: Path) -> tuple[PlaceSketch, PlaceSketch] | None:
        """Return the counts of two fields, if both are known."""
        if source not in self.source or target not in self.target:
            return None
        return self.source[source], self.target[target]

    def weighed(self, source: Path, target: Path, score: float, why: str) -> tuple[float, str]:
        """Return the confidence from names, changed by the likeness of the values."""
        known = self.pair(source, target)
        like = distributions.likeness(*known) if known else None
        if like is None:
            return score, why
        if like.is_exact and like.score < _OTHER_VALUES:
            return score, why  # another code of the same thing, perhaps; names alone say so
        more = like.score * (0.8 if like.is_exact else 0.3)
        return min(0.99, 1 - (1 - score) * (1 - more)), f"{why}; {like.text}"

    def same_range(self, source: Path, target: Path) -> bool | None:
        """Return whether the numbers of two fields have one range; None if the samples do not show it."""
        known = self.pair(source, target)
        return None if known is None else distributions.factor_fits(*known, 1.0)

    def confirms(self, source: Path, target: Path, factor: float) -> bool | None:
        """Return whether the numbers of two fields differ by a factor; None if the samples do not show it."""
        known = self.pair(source, target)
        return None if known is None else distributions.factor_fits(*known, factor)

    def contradicts_ticks(self, source: Path, name: str) -> bool:
        """Return whether the numbers of a field are moments with other ticks than the unit in its name."""
        counts = self.source.get(source)
        ticks = None if counts is None else distributions.ticks_of(counts)
        unit = units_of(name, "")[0]
        if ticks is None or unit is None or unit.dimension != "time" or unit.size is None:
            return False
        return unit.size * ticks != _TICKS_A_SECOND_OF_MILLIS

    def same_values(self, target: Path, unused: Sequence[Path]) -> tuple[Path, float, str] | None:
        """Return the one unused source field whose values are those of the target field, with a confidence."""
        found = []
        for source in unused:
            known = self.pair(source, target)
            like = distributions.likeness(*known) if known else None
            if like is not None and like.is_exact:
                found.append((like.score, source, like.text))
        found.sort(reverse=True)
        if not found or found[0][0] < _LEAST_COMMON:
            return None
        if len(found) > 1 and found[0][0] - found[1][0] < _CLEARLY:
            return None
        score, source, text = found[0]
        return source, 0.85 * score, text

    def scalar_rules(
        self, source: Path, target: Path, left: Scalar, right: Scalar
    ) -> Iterator[tuple[JsonObject, float, str]]:
        """Yield rules between two fields, each with a share of confidence and its reason."""
        if left.word in NUMERIC and is_instant(right):
            yield from self._moment(source, ticks_per_second(right))
        known = self.pair(source, target)
        if known is None:
            return
        if left.word in NUMERIC and right.word in NUMERIC:
            yield from self._unit(source, *known)
        elif left.word in _TEXTS and right.word in _TEXTS:
            code = distributions.recoding(*known)
            if code is not None:
                share = 0.95 if code[1].startswith("all") else 0.6
                yield {"from": spell(source), "lookup": code[0], "else": "error"}, share, code[1]

    def _moment(self, source: Path, wanted: int) -> Iterator[tuple[JsonObject, float, str]]:
        counts = self.source.get(source)
        ticks = None if counts is None else distributions.ticks_of(counts)
        if ticks is None or ticks >= wanted:
            return
        why = f"all numbers are moments with {ticks:,} ticks a second, the target has {wanted:,}"
        yield {"expr": f"{spell_in_formula(source)} * {wanted // ticks}"}, 1.15, why

    def _unit(self, source: Path, one: PlaceSketch, other: PlaceSketch) -> Iterator[tuple[JsonObject, float, str]]:
        first, second = distributions.ticks_of(one), distributions.ticks_of(other)
        if first is not None and second is not None:
            if first != second:
                why = f"all numbers are moments, with {first:,} and {second:,} ticks a second"
                yield {"expr": scaled(source, second / first)}, 1.15, why
            return
        found = distributions.factor_between(one, other)
        if found is not None:
            why = f"the ranges {one.least:g} to {one.most:g} and {other.least:g} to {other.most:g} differ as {found[1]}"
            yield {"expr": scaled(source, found[0])}, 1.12, why

    def joined(self, target: Path, unused: Sequence[Path]) -> Iterator[tuple[JsonObject, float, str]]:
        """Yield the join of source fields whose texts are the pieces of the target's texts."""
        if target not in self.target:
            return
        for separator, pieces in distributions.pieces_of(self.target[target]):
            parts = [
                _best(piece, {path: self.source[path] for path in unused if path in self.source}) for piece in pieces
            ]
            found = [part for part in parts if part is not None]
            if len(found) == len(parts) == len({path for path, _ in found}):
                share = min(score for _, score in found)
                rule = {"join": [spell(path) for path, _ in found], "with": separator}
                yield rule, 0.9 * share, f"{share:.0%} of the pieces between {separator!r} are values of these fields"

    def split(self, target: Path, unused: Sequence[Path]) -> Iterator[tuple[JsonObject, float, str]]:
        """Yield the piece of a source field's texts that has the values of the target field."""
        if target not in self.target:
            return
        for source in unused:
            if source not in self.source:
                continue
            for separator, pieces in distributions.pieces_of(self.source[source]):
                shares = [distributions.overlap(piece, self.target[target]) for piece in pieces]
                best = max(range(len(shares)), key=shares.__getitem__)
                if shares[best] >= _LEAST_COMMON and sorted(shares)[-2] < shares[best] - _CLEARLY:
                    rule = {"split": {"from": spell(source), "on": separator, "take": best}}
                    yield (
                        rule,
                        0.85 * shares[best],
                        f"{shares[best]:.0%} of piece {best} on {separator!r} are its values",
                    )


def _best(piece: dict[str, float], counts: FieldCounts) -> tuple[Path, float] | None:
    """Return the field whose texts are those of a piece, if it is clearly one."""
    found = sorted(((distributions.overlap(piece, each), path) for path, each in counts.items()), reverse=True)
    if not found or found[0][0] < _LEAST_COMMON:
        return None
    if len(found) > 1 and found[0][0] - found[1][0] < _CLEARLY:
        return None
    return found[0][1], found[0][0]


def scaled(source: Path, factor: float) -> str:
    """Return the formula that multiplies a source field; it divides for a factor below 1."""
    sign, number = ("*", factor) if factor >= 1 else ("/", round(1 / factor, 9))
    return f"{spell_in_formula(source)} {sign} {number:.10g}"


# Suggestions of rules for what is open in a plan, each with its evidence and a confidence.
#
# ==============================  ====================================================================================
# open                            suggestions
# ==============================  ====================================================================================
# a field that nothing fills      an unused source field of a similar name, whose type can be converted; only with a
#                                 formula where the names end in other units (``_g`` and ``_kg``)
# a narrower type                 the cast to it; a table for an enum, whose symbols are paired by their names
# text and point in time          ``format`` or ``parse`` with a common pattern
# null                            ``null: error``
# with samples                    fields with the same values, numbers of other units (also where they are only copied),
#                                 moments with other ticks, other codes of the same values, joined and split texts
# ==============================  ====================================================================================
#
# A suggestion is only made if the plan with it has no problem at its field.

_NUMBERS: Final = frozenset({*NUMERIC, "decimal"})
_LEAST_SIMILARITY: Final = 0.5
_SURE: Final = 0.9
_PATTERN: Final = "yyyy-MM-dd HH:mm:ss"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A rule for ``field``, as the words of a bridge document; ``confidence`` is between 0 and 1."""

    field: str
    rule: Mapping[str, Json]
    confidence: float
    evidence: str

    def __str__(self) -> str:
        words = ", ".join(f"{word}: {json.dumps(value, ensure_ascii=False)}" for word, value in self.rule.items())
        return f"{self.field}: {{{words}}}  # {self.confidence:.2f}: {self.evidence}"


def suggest_rules(
    plan: ConversionPlan, rules: PlanRules | None = None, samples: CountedSamples | None = None
) -> list[Suggestion]:
    """Return the best suggestion for each field that is open in ``plan``, which was derived with ``rules``.

    With ``samples`` also for values that are copied although the counted ones have other units, or another spelling.
    """
    try:
        source, target = tree_of(plan.source), tree_of(plan.target)
    except NotPlannable:
        return []
    if not isinstance(source, RecordType) or not isinstance(target, RecordType):
        return []
    suggester = _Suggester(
        plan, rules or PlanRules(), samples or CountedSamples(), SourceScope(source), SourceScope(target)
    )
    return list(suggester.suggestions())


class _Suggester:
    def __init__(
        self, plan: ConversionPlan, rules: PlanRules, samples: CountedSamples, source: SourceScope, target: SourceScope
    ) -> None:
        self._plan = plan
        self._samples = samples
        self._rules = rules
        self._source = source
        self._target = target

    def suggestions(self) -> Iterator[Suggestion]:
        """Yield the best suggestion for each open field of the target."""
        done: set[str] = set()
        for problem in self._plan.problems:
            is_target = problem.kind in {ProblemKind.UNCOVERED, ProblemKind.LOSSY, ProblemKind.WRONG_TYPE}
            if not is_target or problem.field in done:
                continue
            done.add(problem.field)
            path = target_path(problem.field)
            if self._target.type_at(path) is None:  # inside an array or a map
                continue
            offers = self._renames(path) if problem.kind is ProblemKind.UNCOVERED else self._conversions(path)
            yield from self._best(offers)
        yield from self._other_values(done)

    def _best(self, offers: Iterable[Suggestion]) -> Iterator[Suggestion]:
        """Yield the offer with the largest confidence that leaves no problem at its field."""
        for offer in sorted(offers, key=lambda each: -each.confidence):
            if self._solves(offer):
                yield offer
                return

    def _other_values(self, done: set[str]) -> Iterator[Suggestion]:
        """Yield rules for values that the plan copies although the counted ones have other units or spellings."""
        for row in self._plan.described:
            if row.how != "same name" or row.target in done or "[" in row.target or "{" in row.target:
                continue
            source, target = target_path(row.source), target_path(row.target)
            scalars = self._scalars(source, target)
            if scalars is None:
                continue
            for rule, share, why in self._samples.scalar_rules(source, target, *scalars):
                if share > _SURE:
                    yield from self._best([Suggestion(row.target, rule, 0.5, f"{why}; without a rule it is copied")])

    def _solves(self, offer: Suggestion) -> bool:
        """Return whether the plan with the rule has no problem at the field."""
        try:
            added = parse_rules({offer.field: offer.rule}).fields
        except PlanError:  # a value that no rule can contain, such as half of a surrogate pair
            return False
        plan = derive_plan(
            self._plan.source, self._plan.target, PlanRules((*self._rules.fields, *added), drop_rest=True)
        )
        return all(problem.field != offer.field for problem in plan.problems)

    def _renames(self, path: tuple[str, ...]) -> Iterator[Suggestion]:
        """Yield rules from unused source fields of similar names, or with the values of the field."""
        unused = list(self._unused())
        for source in unused:
            similarity, why = _similarity(source[-1], path[-1])
            if similarity >= _LEAST_SIMILARITY:
                yield from self._rules_from(source, path, *self._samples.weighed(source, path, similarity, why))
        same = self._samples.same_values(path, unused)
        if same is not None:
            yield from self._rules_from(same[0], path, same[1], same[2])
        for rule, score, why in (*self._samples.joined(path, unused), *self._samples.split(path, unused)):
            yield Suggestion(spell(path), rule, score, why)

    def _unused(self) -> Iterator[tuple[str, ...]]:
        """Yield the paths of unused source fields, those inside records as well."""
        for problem in self._plan.problems:
            path = target_path(problem.field) if problem.kind is ProblemKind.UNUSED else ()
            if path and not {"[]", "{}"} & set(path):
                yield path
                yield from self._source.paths(path)

    def _conversions(self, path: tuple[str, ...]) -> Iterator[Suggestion]:
        """Yield rules from the source field of the same name."""
        if self._source.type_at(path) is not None:
            yield from self._rules_from(path, path, *self._samples.weighed(path, path, 1.0, "same name"))

    def _scalars(self, source: tuple[str, ...], target: tuple[str, ...]) -> tuple[Scalar, Scalar] | None:
        """Return the types of two fields without null, if both are scalars."""
        found = []
        for node in (self._source.type_at(source), self._target.type_at(target)):
            inner = None if node is None else split_null(node)[1]
            scalar = None if inner is None else scalar_of(inner)
            found += [] if scalar is None else [scalar]
        return (found[0], found[1]) if len(found) == 2 else None  # noqa: PLR2004 - source and target

    def _rules_from(
        self, source: tuple[str, ...], target: tuple[str, ...], score: float, why: str
    ) -> Iterator[Suggestion]:
        """Yield the rules that convert a source field to a target field; inside a branch, both are of the same one."""
        around = scope_of(target)
        if source[: len(around)] != around:
            return
        for each in self._whole_rules_from(source, target, score, why):
            inside = {
                word: spell(source[len(around) :]) if value == spell(source) else value
                for word, value in each.rule.items()
            }
            yield replace(each, rule=inside)

    def _whole_rules_from(
        self, source: tuple[str, ...], target: tuple[str, ...], score: float, why: str
    ) -> Iterator[Suggestion]:
        """Yield the rules with the path of the source from the whole record on."""
        given, wanted = self._source.type_at(source), self._target.type_at(target)
        if given is None or wanted is None:
            return
        (has_null, inner), (takes_null, needed) = split_null(given), split_null(wanted)
        if inner is None or needed is None:
            return
        spelt, where = spell(source), spell(target)
        null = {"null": "error"} if has_null and not takes_null else {}
        left, right = scalar_of(inner), scalar_of(needed)
        if left and right and self._is_other_unit(source, target, left, right):
            for rule, share, reason in self._unit_rules(source, target, left, right):
                yield Suggestion(where, {**rule, **null}, min(1.0, score * share), f"{why}; {reason}")
            return
        if same_values(inner, needed) or (left and right and (is_wider(left, right) or is_derived(left, right))):
            yield Suggestion(where, {"from": spelt, **null}, score, f"{why}, and its type fits")
        if left is None or right is None:
            return
        sampled = self._samples.scalar_rules(source, target, left, right)
        for rule, share, reason in (*sampled, *_scalar_rules(source, left, right)):
            yield Suggestion(where, {**rule, **null}, min(1.0, score * share), f"{why}; {reason}")

    def _is_other_unit(self, source: tuple[str, ...], target: tuple[str, ...], left: Scalar, right: Scalar) -> bool:
        """Return whether two fields hold numbers of other units by their names, unless the samples show one unit."""
        if not {left.word, right.word} <= _NUMBERS and not (left.word in NUMERIC and is_instant(right)):
            return False
        names = source[-1], _name_with_ticks(target[-1], right)
        return differ_in_unit(*names) and self._samples.same_range(source, target) is not True

    def _unit_rules(
        self, source: tuple[str, ...], target: tuple[str, ...], left: Scalar, right: Scalar
    ) -> Iterator[tuple[JsonObject, float, str]]:
        """Yield the formulas between two units: of the samples, and of the names if the samples do not refute it."""
        yield from self._samples.scalar_rules(source, target, left, right)
        factor = factor_between_names(source[-1], _name_with_ticks(target[-1], right))
        if factor is None or left.word not in NUMERIC:
            return
        is_shown = self._samples.confirms(source, target, factor)
        if is_shown is False or self._samples.contradicts_ticks(source, source[-1]):
            return
        formula, note = scaled(source, factor), ""
        if right.base in WHOLE and factor < 1:
            formula, note = f"round({formula})", ", rounded to whole numbers"
        proof = {True: "the sampled ranges confirm it", None: "no samples of both sides show it"}[is_shown]
        yield {"expr": formula}, 1.1, f"the names end in units, 1 to {factor:.10g}{note}; {proof}"


def _name_with_ticks(name: str, scalar: Scalar) -> str:
    """Return the name of a field; that of a point in time ends in the unit that its type has."""
    return f"{name}_{scalar.word.rpartition('-')[2]}" if is_instant(scalar) else name


def _scalar_rules(path: tuple[str, ...], left: Scalar, right: Scalar) -> Iterator[tuple[JsonObject, float, str]]:
    """Yield rules between two scalars, each with a share of confidence and its reason."""
    source = spell(path)
    if left.word == right.word == "enum":
        table = _symbols(left, right)
        if table:
            share = len(table) / len(left.symbols)
            reason = f"{len(table)} of {len(left.symbols)} symbols have a partner of similar name"
            yield {"from": source, "lookup": table, "else": "error"}, 0.9 * share, reason
    elif is_instant(left) and right.word == "string":
        yield {"format": source, "as": _PATTERN, "zone": "UTC"}, 0.6, f"{left} as text; the pattern is a guess"
    elif left.word == "string" and (is_instant(right) or right.word == "date"):
        pattern = "yyyy-MM-dd" if right.word == "date" else _PATTERN
        yield {"parse": source, "as": pattern, "zone": "UTC"}, 0.5, f"text as {right}; the pattern is a guess"
    elif casts(left, right):
        yield {"from": source, **cast_words(left, right)}, 0.8, f"{left} can be cast to {right}"


def _similarity(left: str, right: str) -> tuple[float, str]:
    """Return the similarity of two names, 0 to 1, and what is similar."""
    first, second = words_of(left), words_of(right)
    if first == second:
        return 0.95, f"{left} and {right} have the same words"
    if stem_of(first) == stem_of(second):
        return 0.85, f"{left} and {right} differ in the unit"
    common = set(first) & set(second)
    overlap = len(common) / max(len(set(first)), len(set(second)), 1)
    letters = SequenceMatcher(None, "".join(first), "".join(second)).ratio()
    return max(0.9 * letters, 0.5 + overlap / 2 if common else 0.0), f"{left} is similar to {right}"


def _symbols(left: Scalar, right: Scalar) -> dict[str, str]:
    """Return the partner of each symbol whose words, without those that all symbols have in front, are equal."""
    sources, targets = _bare(left.symbols), _bare(right.symbols)
    symbol_by_words = {words: symbol for symbol, words in targets.items()}
    return {symbol: symbol_by_words[words] for symbol, words in sources.items() if words in symbol_by_words}


def _bare(symbols: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    words = [[part.lower() for part in symbol.split("_")] for symbol in symbols]
    shared = 0
    while len(words) > 1 and all(len(each) > shared + 1 and each[shared] == words[0][shared] for each in words):
        shared += 1
    return {symbol: tuple(each[shared:]) for symbol, each in zip(symbols, words, strict=True)}
