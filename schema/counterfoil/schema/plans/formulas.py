"""Paths of fields in formulas and rules.

Paths of rules have field names, the elements of arrays and maps, and branches of unions, in the text form of
:mod:`counterfoil.schema.paths`::

    path   = first { "." name | branch }                    # a source field
    target = first { "." name | branch | "[]" | "{}" }      # a target field
    first  = name | branch
    branch = "<" the name of a type ">"
    name   = plain | quoted
    plain  = characters other than . [ { < that do not begin with a quote
    quoted = a JSON string, such as "a.b"
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from counterfoil.schema.paths import ITEMS, VALUES, InvalidPath, Step, StepKind, branch, member, parse_path, print_path

# Paths of rules: field names and the elements of arrays and maps, in the text form of :mod:`counterfoil.schema.paths`.

Path: TypeAlias = tuple[str, ...]
"""Names of fields; ``[]`` and ``{}`` are the elements of an array and of a map, a ``BranchSegment`` is a branch."""


class BranchSegment(str):  # noqa: SLOT000 - the index and the shapes are attributes
    """The segment of a path into a branch of a union: the branch's name. It equals no name of a field.

    ``place`` is the branch's index in its union, once the path was found in a schema; ``shapes`` are the classes of its
    values, where values of the union are no pairs with the index.
    """

    place: int = -1
    shapes: tuple[str, ...] = ()

    @classmethod
    def found(cls, name: str, index: int, shapes: Iterable[str] = ()) -> BranchSegment:
        """Return the segment of a branch that a schema has."""
        made = cls(name)
        made.place, made.shapes = index, tuple(shapes)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BranchSegment) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("<>", str(self)))


_PATH_NAME: Final = r'("([^"\\]|\\.)*"|[^".\[{<][^.\[{<]*)'
_PATH_BRANCH: Final = r'<("([^"\\]|\\.)*"|[^"<>][^<>]*)>'
SOURCE_PATH_PATTERN: Final = rf"({_PATH_NAME}|{_PATH_BRANCH})({_PATH_BRANCH}|\.{_PATH_NAME})*"
TARGET_PATH_PATTERN: Final = rf"({_PATH_NAME}|{_PATH_BRANCH})({_PATH_BRANCH}|\[\]|\{{\}}|\.{_PATH_NAME})*"
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
        raise InvalidPath(text, 0, "names of fields, separated by dots, and <branches>")
    return path


def target_path(text: str) -> Path:
    """Return the segments of the path of a target field; raise ``InvalidPath`` for another text.

    >>> target_path("stops[].zip-code")
    ('stops', '[]', 'zip-code')
    """
    steps = parse_path(text)
    if not steps or steps[0].kind not in {StepKind.MEMBER, StepKind.BRANCH}:
        raise InvalidPath(text, 0, "the name of a field, or a <branch>")
    return tuple(_segment(step, text) for step in steps)


def _segment(step: Step, text: str) -> str:
    if step in _WORD_BY_ELEMENT:
        return _WORD_BY_ELEMENT[step]
    if step.kind is StepKind.BRANCH and step.name:
        return BranchSegment(step.name)
    if step.kind is not StepKind.MEMBER or step.name in _ELEMENTS:
        raise InvalidPath(text, 0, "names of fields, <branches>, [] and {}")
    return step.name


def spell(path: Iterable[str]) -> str:
    """Return the text of a path, with quotes where a name needs them.

    >>> spell(("stops", "[]", "zip.code"))
    'stops[]."zip.code"'
    """
    return print_path(tuple(map(_step, path)))


def _step(segment: str) -> Step:
    if isinstance(segment, BranchSegment):
        return branch(segment)
    return _ELEMENTS.get(segment) or member(segment)


def has_inner_scope(path: Path) -> bool:
    """Return whether source paths of a rule for a target path start at an item, a value of a map, or a branch."""
    return any(segment in _ELEMENTS or isinstance(segment, BranchSegment) for segment in path)


def scope_of(path: Path) -> Path:
    """Return the part of a target path after which source paths start anew: the last element or branch in it."""
    around = path
    while around and not has_inner_scope(around[-1:]):
        around = around[:-1]
    return around


def spell_in_formula(path: Iterable[str]) -> str:
    """Return the text of a source path in a formula, where names that are no words need quotes.

    >>> spell_in_formula(("ride", "user-id"))
    'ride."user-id"'
    """
    return ".".join(name if _WORD.fullmatch(name) else json.dumps(name, ensure_ascii=False) for name in path)
