"""What a difference of two schemas states of its place, as facts: what the reader expects, and what is written.

The facts are those of the difference, never its sentence, so that they are the same in every wording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.compatibility.misfits import MISSING, NULLABLE
from counterfoil.schema.compatibility.sentences import Sentence, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.compatibility.report import Difference

_FIXED: Final[Mapping[str, tuple[str, str]]] = {
    "reader-field-missing-default": ("present", MISSING),
    "required-field-added": ("required", MISSING),
    "field-made-required": ("required", "optional"),
    "packed-repeated-to-singular": ("singular", "repeated packed"),
    "repeated-to-singular": ("singular", "repeated"),
    "bytes-to-string": ("string", "bytes"),
    "bytes-read-as-string": ("string", "bytes"),
    "message-removed": (MISSING, "message"),
    "oneof-field-removed": (MISSING, "field of a oneof"),
}
"""The facts of rules that apply to one pair of facts alone."""
_PREFIX: Final[Mapping[str, str]] = {
    "default-value-changed": "default ",
    "name-mismatch": "name ",
    "fixed-size-mismatch": "size ",
    "message-moved": "number ",
}
"""What the values of a rule are, where they are no types."""
_LISTS: Final = ("symbols", "values")
"""The facts that list what the reader does not know."""
_RENUMBERED: Final = "enum-value-renumbered"
_RENAMED: Final = "enum-value-renamed"


class Stated(NamedTuple):
    """What is expected and what is written at one place."""

    expected: str
    written: str


def stated_by(difference: Difference) -> Iterator[Stated]:
    """Yield what a difference states: one for each symbol of an enum that the reader does not know, else one."""
    facts, rule = difference.facts, difference.rule
    lists = [facts[name] for name in _LISTS if isinstance(facts.get(name), tuple)]
    if rule in _FIXED:
        yield Stated(*_FIXED[rule])
    elif lists:
        known = show(facts.get("name", "known"))
        yield from (Stated(known, str(each)) for listed in lists if isinstance(listed, tuple) for each in listed)
    elif rule in (_RENUMBERED, _RENAMED):
        sides = (facts["reader"], facts["writer"])
        is_renamed = rule == _RENAMED
        yield Stated(*(f"{each} = {facts['number']}" if is_renamed else f"{facts['name']} = {each}" for each in sides))
    elif "reader" in facts and "writer" in facts:
        prefix = _PREFIX.get(rule, "")
        expected, written = (f"{prefix}{show(facts[side])}" for side in ("reader", "writer"))
        yield Stated(expected, NULLABLE if written == "null" else written)
    else:
        told = [
            show(each) for name, each in sorted(facts.items()) if name != "value" and not isinstance(each, Sentence)
        ]
        yield Stated("", " ".join([rule, *told]))
