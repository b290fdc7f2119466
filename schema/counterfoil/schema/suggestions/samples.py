"""Suggestions from counted values: fields with the same values, other units, other codes, joined and split texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.evolution.field_paths import spell, spell_in_formula
from counterfoil.schema.evolution.types import NUMERIC, is_instant, ticks_per_second
from counterfoil.schema.evolution.units import units_of
from counterfoil.schema.suggestions import distributions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.evolution.field_paths import Path
    from counterfoil.schema.evolution.model import Scalar
    from counterfoil.schema.sketch.model import PlaceSketch
    from counterfoil.schema.suggestions.field_counts import FieldCounts

_LEAST_COMMON: Final = 0.8
"""The share of values that two fields of different names must have in common."""
_CLEARLY: Final = 0.15
"""How much more alike the best of several fields must be."""
_OTHER_VALUES: Final = 0.2
_TICKS_A_SECOND_OF_MILLIS: Final = 1000
_TEXTS: Final = frozenset({"string", "enum"})


@dataclass(frozen=True, slots=True)
class Samples:
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
    ) -> Iterator[tuple[dict[str, Any], float, str]]:
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

    def _moment(self, source: Path, wanted: int) -> Iterator[tuple[dict[str, Any], float, str]]:
        counts = self.source.get(source)
        ticks = None if counts is None else distributions.ticks_of(counts)
        if ticks is None or ticks >= wanted:
            return
        why = f"all numbers are moments with {ticks:,} ticks a second, the target has {wanted:,}"
        yield {"expr": f"{spell_in_formula(source)} * {wanted // ticks}"}, 1.15, why

    def _unit(self, source: Path, one: PlaceSketch, other: PlaceSketch) -> Iterator[tuple[dict[str, Any], float, str]]:
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

    def joined(self, target: Path, unused: Sequence[Path]) -> Iterator[tuple[dict[str, Any], float, str]]:
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

    def split(self, target: Path, unused: Sequence[Path]) -> Iterator[tuple[dict[str, Any], float, str]]:
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
