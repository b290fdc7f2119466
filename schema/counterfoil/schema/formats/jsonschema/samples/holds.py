"""Whether a value fits a schema, decided here and fast: the sieve through which candidates go.

What it lets through is confirmed by a validator that is not ours; so a mistake here costs a candidate, never a truth.

Source: the validation and applicator vocabularies of draft-04 to 2020-12; formats are annotations.
"""

from __future__ import annotations

from decimal import Decimal, DecimalException
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.drafts import Draft
from counterfoil.schema.formats.jsonschema.patterns import holds_match
from counterfoil.schema.formats.jsonschema.sites import Site, alike, is_number
from counterfoil.schema.formats.jsonschema.values import type_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_DEPTH: Final = 60
"""How deep schemas may lead into each other for one value."""


class OutOfBudget(Exception):
    """The search has looked at as much as it may."""


class Sieve:
    """Decides whether values fit. ``left`` counts down how many schemas may still be looked at."""

    def __init__(self, budget: int) -> None:
        self.left = budget

    def fits_all(self, value: Any, sites: Sequence[Site]) -> bool:
        """Whether ``value`` fits every one of ``sites``; raises ``OutOfBudget``."""
        return all(self.fits(value, site) for site in sites)

    def fits(self, value: Any, site: Site, depth: int = 0) -> bool:
        """Whether ``value`` fits the schema at ``site``; False where references lead nowhere but to themselves.

        Raises ``OutOfBudget``.
        """
        self.left -= 1
        if self.left < 0:
            raise OutOfBudget
        if isinstance(site.value, bool):
            return site.value
        if depth > MAX_DEPTH or not isinstance(site.value, dict):
            return False
        keywords = site.keywords
        if not all(self.fits(value, referred, depth + 1) for referred in site.referred()):
            return False
        if not (_is_of_type(value, keywords) and _is_chosen(value, keywords) and self._combines(value, site, depth)):
            return False
        match type_of(value):
            case "number":
                return fits_number(value, keywords, site.base.draft)
            case "string":
                return fits_text(value, keywords)
            case "array":
                return self._fits_array(value, site, depth)
            case "object":
                return self._fits_object(value, site, depth)
        return True

    def _combines(self, value: Any, site: Site, depth: int) -> bool:
        keywords = site.keywords
        if "allOf" in keywords and not all(self.fits(value, branch, depth + 1) for branch in site.children("allOf")):
            return False
        if "anyOf" in keywords and not any(self.fits(value, branch, depth + 1) for branch in site.children("anyOf")):
            return False
        if "oneOf" in keywords and sum(self.fits(value, branch, depth + 1) for branch in site.children("oneOf")) != 1:
            return False
        refused = site.one("not")
        if refused and self.fits(value, refused, depth + 1):
            return False
        condition = site.one("if")
        if condition is None:
            return True
        then = site.one("then" if self.fits(value, condition, depth + 1) else "else")
        return then is None or self.fits(value, then, depth + 1)

    def _fits_array(self, value: list[Any], site: Site, depth: int) -> bool:
        keywords = site.keywords
        if not _is_between(len(value), keywords, "minItems", "maxItems"):
            return False
        if keywords.get("uniqueItems") is True and len({alike(item) for item in value}) < len(value):
            return False
        if not all(self.fits(item, one, depth + 1) for index, item in enumerate(value) for one in site.items(index)):
            return False
        wanted = site.one("contains")
        if wanted is None or site.base.draft is Draft.DRAFT_4:
            return True
        found = sum(self.fits(item, wanted, depth + 1) for item in value)
        if not site.base.draft.is_modern:
            return found > 0
        return _is_between(found, {"minContains": 1, **keywords}, "minContains", "maxContains")

    def _fits_object(self, value: dict[str, Any], site: Site, depth: int) -> bool:
        keywords = site.keywords
        if not _is_between(len(value), keywords, "minProperties", "maxProperties"):
            return False
        required = keywords.get("required")
        if isinstance(required, list) and not all(name in value for name in required):
            return False
        if not all(self.fits(item, one, depth + 1) for name, item in value.items() for one in site.properties(name)):
            return False
        names = site.one("propertyNames")
        if (
            names
            and site.base.draft is not Draft.DRAFT_4
            and not all(self.fits(name, names, depth + 1) for name in value)
        ):
            return False
        return all(self._depends(value, name, site, depth) for name in value)

    def _depends(self, value: dict[str, Any], name: str, site: Site, depth: int) -> bool:
        for keyword in dependency_keywords(site):
            held = site.keywords.get(keyword)
            dependent = held.get(name, True) if isinstance(held, dict) else True
            if isinstance(dependent, list):
                if not all(other in value for other in dependent):
                    return False
            elif not self.fits(value, site.child(dependent, keyword, name), depth + 1):
                return False
        return True


def _is_of_type(value: Any, keywords: Mapping[str, Any]) -> bool:
    named = keywords.get("type")
    if named is None:
        return True
    names = named if isinstance(named, list) else [named]
    name = type_of(value)
    return name in names or (name == "number" and "integer" in names and is_whole(value))


def is_whole(value: Any) -> bool:
    """Whether a number has no fraction."""
    return isinstance(value, int) or value == value.to_integral_value()


def _is_chosen(value: Any, keywords: Mapping[str, Any]) -> bool:
    key = alike(value)
    choices = keywords.get("enum")
    if isinstance(choices, list) and all(alike(choice) != key for choice in choices):
        return False
    return "const" not in keywords or alike(keywords["const"]) == key


def fits_number(value: Any, keywords: Mapping[str, Any], draft: Draft) -> bool:
    """Whether a number keeps the limits in ``keywords``; in draft-04 the exclusive limits are flags."""
    low, high = keywords.get("minimum"), keywords.get("maximum")
    above, below = keywords.get("exclusiveMinimum"), keywords.get("exclusiveMaximum")
    if draft is Draft.DRAFT_4:
        above, below = low if above is True else None, high if below is True else None
    if (is_number(low) and value < low) or (is_number(high) and value > high):
        return False
    if (is_number(above) and value <= above) or (is_number(below) and value >= below):
        return False
    factor = keywords.get("multipleOf")
    return not is_number(factor) or is_multiple(value, factor)


def is_multiple(value: Any, factor: Any) -> bool:
    """Whether a number is a whole multiple of another; False where the digits do not suffice to tell."""
    try:
        return factor != 0 and Decimal(value) % Decimal(factor) == 0
    except DecimalException:
        return False


def fits_text(value: str, keywords: Mapping[str, Any]) -> bool:
    """Whether a string keeps the limits in ``keywords``; a pattern that cannot be tried counts as kept."""
    pattern = keywords.get("pattern")
    return _is_between(len(value), keywords, "minLength", "maxLength") and not (
        isinstance(pattern, str) and holds_match(pattern, value) is False
    )


def _is_between(count: int, keywords: Mapping[str, Any], low: str, high: str) -> bool:
    at_least: Any = keywords.get(low)
    at_most: Any = keywords.get(high)
    return not (is_number(at_least) and count < at_least) and not (is_number(at_most) and count > at_most)


def dependency_keywords(site: Site) -> tuple[str, ...]:
    """The keywords that say what a property asks for, in the draft that is in force."""
    return ("dependentRequired", "dependentSchemas") if site.base.draft.is_modern else ("dependencies",)
