"""The places of values in a JSON value, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def path_text(steps: Iterable[str | int]) -> str:
    """Return the text of a path: names of properties and indexes of items.

    >>> path_text(["stops", 3, "lat"]), path_text([]), path_text(["a b"])
    ('stops[3].lat', '', "['a b']")
    """
    parts = [f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]" for step in steps]
    return "".join(parts).removeprefix(".")


class TextOrder:
    """The order of the places of a value in its text: a value comes before its parts.

    >>> sorted([["b"], ["a", 2], ["a"]], key=TextOrder({"a": [0, 1, 2], "b": 0}).key)
    [['a'], ['a', 2], ['b']]
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self._places: dict[int, dict[str, int]] = {}

    def key(self, steps: Iterable[str | int], wrong: Callable[[], Any] | None = None) -> tuple[int, ...]:
        """Return how many parts are before each part on the way to a place.

        ``wrong`` returns the value there, if the path may lack steps of empty names, as those of jsonschema-rs do.
        """
        found: list[int] = []
        value = self._value
        for step in steps:
            name = self._name(value, step)
            while name is None and isinstance(value, dict) and "" in value:  # a step that jsonschema-rs leaves out
                found.append(self._place(value, ""))
                value = value[""]
                name = self._name(value, step)
            if name is not None:
                found.append(self._place(value, name))
                value = value[name]
            elif isinstance(value, list) and isinstance(step, int):
                found.append(step)
                value = value[step]
            else:
                break
        while wrong is not None and isinstance(value, dict) and "" in value and value != wrong():
            found.append(self._place(value, ""))
            value = value[""]
        return tuple(found)

    def _place(self, value: Mapping[str, Any], name: str) -> int:
        places = self._places.get(id(value))
        if places is None:
            places = self._places[id(value)] = {each: place for place, each in enumerate(value)}
        return places[name]

    def _name(self, value: Any, step: str | int) -> str | None:
        """Return the name of a step; jsonschema-rs has a whole number for a name that is the text of one."""
        if not isinstance(value, dict):
            return None
        if isinstance(step, str):
            return step if step in value else None
        return next((name for name in value if _is_number(name, step)), None)


def _is_number(name: str, number: int) -> bool:
    digits = name.removeprefix("+")
    return digits.isascii() and digits.isdecimal() and digits.lstrip("0") == str(number).lstrip("0")
