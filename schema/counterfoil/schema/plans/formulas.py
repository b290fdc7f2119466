"""Paths of fields in formulas and rules.

Paths of rules have field names and the elements of arrays and maps, in the text form of
:mod:`counterfoil.schema.paths`::

    path   = name { "." name }                              # a source field
    target = name { "." name | "[]" | "{}" }                # a target field
    name   = plain | quoted
    plain  = characters other than . [ { < that do not begin with a quote
    quoted = a JSON string, such as "a.b"
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from counterfoil.schema.paths import ITEMS, VALUES, InvalidPath, Step, StepKind, member, parse_path, print_path

# Paths of rules: field names and the elements of arrays and maps, in the text form of :mod:`counterfoil.schema.paths`.

Path: TypeAlias = tuple[str, ...]
"""Names of fields; ``[]`` and ``{}`` are the elements of an array and of a map."""

_PATH_NAME: Final = r'("([^"\\]|\\.)*"|[^".\[{<][^.\[{<]*)'
SOURCE_PATH_PATTERN: Final = rf"{_PATH_NAME}(\.{_PATH_NAME})*"
TARGET_PATH_PATTERN: Final = rf"{_PATH_NAME}((\[\]|\{{\}})*\.{_PATH_NAME})*(\[\]|\{{\}})*"
"""The paths as regular expressions, for editors."""
_WORD: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_ELEMENTS: Final = {"[]": ITEMS, "{}": VALUES}
_WORD_BY_ELEMENT: Final = {step: word for word, step in _ELEMENTS.items()}


def source_path(text: str) -> Path:
    """Return the names in the path of a source field; raise ``InvalidPath`` for another text.

    >>> source_path('rider."home.town"')
    ('rider', 'home.town')
    """
    path = target_path(text)
    if _ELEMENTS.keys() & set(path):
        raise InvalidPath(text, 0, "names of fields, separated by dots")
    return path


def target_path(text: str) -> Path:
    """Return the segments of the path of a target field; raise ``InvalidPath`` for another text.

    >>> target_path("stops[].zip-code")
    ('stops', '[]', 'zip-code')
    """
    steps = parse_path(text)
    if not steps or steps[0].kind is not StepKind.MEMBER:
        raise InvalidPath(text, 0, "the name of a field")
    return tuple(_segment(step, text) for step in steps)


def _segment(step: Step, text: str) -> str:
    if step in _WORD_BY_ELEMENT:
        return _WORD_BY_ELEMENT[step]
    if step.kind is not StepKind.MEMBER or step.name in _ELEMENTS:
        raise InvalidPath(text, 0, "names of fields, [] and {}")
    return step.name


def spell(path: Iterable[str]) -> str:
    """Return the text of a path, with quotes where a name needs them.

    >>> spell(("stops", "[]", "zip.code"))
    'stops[]."zip.code"'
    """
    return print_path(tuple(_ELEMENTS.get(segment) or member(segment) for segment in path))


def spell_in_formula(path: Iterable[str]) -> str:
    """Return the text of a source path in a formula, where names that are no words need quotes.

    >>> spell_in_formula(("ride", "user-id"))
    'ride."user-id"'
    """
    return ".".join(name if _WORD.fullmatch(name) else json.dumps(name, ensure_ascii=False) for name in path)
