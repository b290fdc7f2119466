"""Which values decide the branches that describe a JSON value that rules have changed before.

A rule that encrypts runs after others. A ciphertext fits other branches than the text that was encrypted, and a rule
that changed a text may have taken from another text the branch that marks it. So each part of such a value knows the
parts at the same place in earlier forms of the value, and these decide.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.serde.json_codec.applicable import Fitting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from counterfoil.schema.formats.jsonschema.marks import Choice
    from counterfoil.schema.formats.jsonschema.view.facts import Facts, Schema

_MISSING: Final = object()
_JSON_KINDS: Final = (dict, list, str, int, float, Decimal)


class DecidedObject(dict[str, Any]):
    """An object, and the values that decide about it."""

    deciders: tuple[Any, ...] = ()


class DecidedArray(list[Any]):
    """An array, and the values that decide about it."""

    deciders: tuple[Any, ...] = ()


class DecidedText(str):
    """A text, and the values that decide about it."""

    __slots__ = ("deciders",)

    deciders: tuple[Any, ...]


def decided(value: Any, deciders: Sequence[Any], dump: Callable[[Any], Any]) -> Any:
    """Return a copy of a value in which each object, array and text knows the parts of ``deciders`` at its place.

    A decider that has nothing at a place does not decide there. ``dump`` makes values of JSON of other values.
    """
    if not isinstance(value, (dict, list, str)):
        return value
    known = tuple(
        each if each is None or each is _MISSING or isinstance(each, _JSON_KINDS) else dump(each) for each in deciders
    )
    found: DecidedObject | DecidedArray | DecidedText
    if isinstance(value, dict):
        found = DecidedObject((key, decided(item, _parts(known, key), dump)) for key, item in value.items())
    elif isinstance(value, list):
        found = DecidedArray(decided(item, _parts(known, index), dump) for index, item in enumerate(value))
    else:
        found = DecidedText(value)
    found.deciders = known
    return found


def _parts(deciders: Iterable[Any], key: str | int) -> list[Any]:
    return [_part(each, key) for each in deciders]


def _part(decider: Any, key: str | int) -> Any:
    if isinstance(decider, dict):
        return decider.get(key, _MISSING)
    if isinstance(decider, list) and isinstance(key, int) and key < len(decider):
        return decider[key]
    return _MISSING


def decider(value: Any, which: int) -> Any:
    """Return one of the values that decide about a value, or the value itself if there is none at its place."""
    known = value.deciders if isinstance(value, (DecidedObject, DecidedArray, DecidedText)) else ()
    found = known[which] if which < len(known) else _MISSING
    return value if found is _MISSING else found


class Deciding(Fitting):
    """Chooses the branches of values of :func:`decided`, by the deciders at the indices ``which``.

    The first of them decides as a value itself would. Each other one adds the branches that it fits, if it fits any.
    """

    def __init__(self, *which: int) -> None:
        super().__init__()
        self._which = which

    def choice(self, value: Any) -> Choice:
        """Return the choice of schemas for a value."""
        first, *others = (decider(value, each) for each in self._which)
        choice = super().choice(first)
        more = [_Added(self, each) for each in others if each is not value and each is not None]
        return _Joined((choice, *more)) if more else choice


class _Added:
    """The schemas that an earlier form of a value adds to those that describe the value."""

    def __init__(self, fitting: Fitting, value: Any) -> None:
        self._fitting = fitting
        self._value = value
        self._exact = fitting.exact(value)

    def branches(self, branches: Sequence[Schema]) -> Iterable[Schema]:
        return [each for each in branches if self._fitting.may_fit(each, self._exact)]

    def conditional(self, facts: Facts) -> Iterable[Schema]:
        return Fitting.choice(self._fitting, self._value).conditional(facts)

    def needed(self, name: str) -> bool:
        return isinstance(self._value, dict) and name in self._value

    def contains(self, schema: Schema, index: int) -> bool:
        is_there = isinstance(self._exact, list) and index < len(self._exact)
        return is_there and self._fitting.may_fit(schema, self._exact[index])


class _Joined:
    """All schemas of several choices."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._choices = choices

    def branches(self, branches: Sequence[Schema]) -> Iterable[Schema]:
        return list(dict.fromkeys(one for each in self._choices for one in each.branches(branches)))

    def conditional(self, facts: Facts) -> Iterable[Schema]:
        return list(dict.fromkeys(one for each in self._choices for one in each.conditional(facts)))

    def needed(self, name: str) -> bool:
        return any(each.needed(name) for each in self._choices)

    def contains(self, schema: Schema, index: int) -> bool:
        return any(each.contains(schema, index) for each in self._choices)
