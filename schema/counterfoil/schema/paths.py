"""Field paths: places in a schema as steps by names, their text form, and their resolution."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from enum import Enum
from functools import reduce
from typing import Final, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.texts import Pointer

# The errors of field paths.


class InvalidPath(CounterfoilError):
    """A text is not a field path; ``offset`` is the place of the fault in ``text``."""

    def __init__(self, text: str, offset: int, expected: str) -> None:
        super().__init__(f"Invalid field path {text!r} at character {offset + 1}: expected {expected}")
        self.text = text
        self.offset = offset


class PathNotFound(CounterfoilError):
    """A field path has no target in a schema; ``path`` is its text, ``reached`` the part that could be resolved."""

    def __init__(self, path: str, reached: str, problem: str) -> None:
        where = f"at {reached}" if reached else "at the top"
        super().__init__(f"The path {path!r} leads nowhere in the schema: {where}, {problem}")
        self.path = path
        self.reached = reached


# A field path: steps by names into the records of a schema, in any language.


class StepKind(Enum):
    """The kind of element that a step selects."""

    MEMBER = "member"
    """A field, property, oneof, constant or declared type, by its name."""
    ITEM = "item"
    """The items of an array; one of them if the step has a number."""
    VALUE = "value"
    """The values of a map; those whose keys match, if the step has a pattern."""
    BRANCH = "branch"
    """A branch: of a union, by its type's name; of ``oneOf``, ``anyOf``, ``allOf``, by number; of a oneof, by field."""
    DEPENDENCY = "dependency"
    """The schema that applies if the object has the property of this name."""
    KEY = "key"
    """The record's key instead of its value; only the first step."""
    HEADER = "header"
    """The record's header of this name; only the first step."""


class Step(NamedTuple):
    """One step into a schema; ``name`` is empty if the kind needs none."""

    kind: StepKind
    name: str = ""


FieldPath: TypeAlias = tuple[Step, ...]
"""The steps from the whole record inwards; empty for the record itself."""

ITEMS = Step(StepKind.ITEM)
VALUES = Step(StepKind.VALUE)
KEY = Step(StepKind.KEY)


def member(name: str) -> Step:
    """Return the step into a field or property."""
    return Step(StepKind.MEMBER, name)


def item(index: str | int) -> Step:
    """Return the step into one item of an array."""
    return Step(StepKind.ITEM, str(index))


def value(pattern: str) -> Step:
    """Return the step into the values of a map whose keys match a pattern."""
    return Step(StepKind.VALUE, pattern)


def branch(name: str | int) -> Step:
    """Return the step into a branch of a union, by its type's name or its number."""
    return Step(StepKind.BRANCH, str(name))


def dependency(name: str) -> Step:
    """Return the step into the schema that applies if the object has a property."""
    return Step(StepKind.DEPENDENCY, name)


def header(name: str) -> Step:
    """Return the step into a header of the record."""
    return Step(StepKind.HEADER, name)


# The text form of field paths, in reports, contract files and options. Parsing is the inverse of printing.
#
# ======================  ====================================================================================
# ``order.id``            the field ``id`` inside the field ``order``
# ``items[].sku``         a field of the items of an array; ``pair[1]`` is the second item of a tuple
# ``attrs{}``             the values of a map; ``{^x-}`` are those whose keys match a pattern
# ``payment<Card>``       the branch of a union by its type's name, of ``oneOf`` by its number, of a oneof by its field
# ``(card is there)``     in JSON Schema, the schema that applies if an object has the property ``card``
# ``$key.id``             a field of the record's key
# ``$header.trace_id``    a header of the record
# ======================  ====================================================================================
#
# The empty text is the whole record. In Protobuf a path may start with the name of a message, if it is not in the first
# one. A name that could be parsed as one of these signs is written as a JSON string: ``"a.b"``.

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_DEPENDED: Final = rf'(?:{_QUOTED}|[^"()][^()]*|)'
_DEPENDENCY: Final = rf"\({_DEPENDED}\x20is\x20there\)"
_MEMBER: Final = rf'(?:{_QUOTED}|(?!")(?:(?!{_DEPENDENCY})[^.\[{{<])+)'
_BALANCED: Final = reduce(lambda inner, _: rf"[^<>]*(?:<{inner}>[^<>]*)*", range(5), "[^<>]*")
"""The pattern of a type in words, such as ``array<map<string>>``."""
_STEP: Final = re.compile(
    rf"""
      \.(?P<member>{_MEMBER})
    | \[(?P<item>{_QUOTED}|(?!")[^\]]*)\]
    | \{{(?P<value>{_QUOTED}|(?!")[^}}]*)\}}
    | <(?P<branch>{_QUOTED}|(?!"){_BALANCED})>
    | \((?P<dependency>{_DEPENDED})\x20is\x20there\)
    """,
    re.VERBOSE | re.DOTALL,
)
_FIRST: Final = re.compile(
    rf"\$header\.(?P<header>{_MEMBER})|(?P<key>\$key)(?=[.\[{{<]|{_DEPENDENCY}|\Z)|(?P<member>{_MEMBER})", re.DOTALL
)
_RESERVED: Final = frozenset({"$key", "$header"})
_PLAIN_MEMBER: Final = re.compile(rf'(?!")(?!.*\((?:"|[^()]*\Z))(?:(?!{_DEPENDENCY})[^.\[{{<])+', re.DOTALL)
"""A parenthesis that is still open at the end of a name could become a dependency with the steps that follow."""
_PLAIN: Final[Mapping[StepKind, re.Pattern[str]]] = {
    StepKind.MEMBER: _PLAIN_MEMBER,
    StepKind.HEADER: _PLAIN_MEMBER,
    StepKind.ITEM: re.compile(r'(?!")[^\]]*'),
    StepKind.VALUE: re.compile(r'(?!")[^}]*'),
    StepKind.BRANCH: re.compile(rf'(?!"){_BALANCED}'),
    StepKind.DEPENDENCY: re.compile(r'(?:[^"()][^()]*)?'),
}
"""The patterns of names that are written without quotes, by kind of step."""
_FORM: Final[Mapping[StepKind, str]] = {
    StepKind.MEMBER: ".{}",
    StepKind.ITEM: "[{}]",
    StepKind.VALUE: "{{{}}}",
    StepKind.BRANCH: "<{}>",
    StepKind.DEPENDENCY: "({} is there)",
    StepKind.KEY: "$key",
    StepKind.HEADER: "$header.{}",
}


@cached_by_size(4 * 1024 * 1024, size_of=lambda text, path: 300 + 100 * len(path) + 2 * len(text))
def print_path(path: FieldPath) -> str:
    """Return the text of a path.

    >>> from counterfoil.schema.paths import ITEMS, branch, member
    >>> print_path((member("lines"), ITEMS, branch("Card"), member("last 4"), member("a.b")))
    'lines[]<Card>.last 4."a.b"'
    """
    text = "".join(_FORM[kind].format(_printed(kind, name)) for kind, name in path)
    if not path or path[0].kind is not StepKind.MEMBER:
        return text
    return f'"{path[0].name}"{text[len(path[0].name) + 1 :]}' if path[0].name in _RESERVED else text[1:]


def print_inside(around: str, step: Step) -> str:
    """Return the text of a path from that of the path around its last step; ``around`` is empty for the first step.

    >>> print_inside("lines[]", member("price")), print_inside("", member("id"))
    ('lines[].price', 'id')
    """
    kind, name = step
    if kind is StepKind.MEMBER and name.isidentifier():  # most steps, and the name is written as it is
        return f"{around}.{name}" if around else name
    return f"{around}{_FORM[kind].format(_printed(kind, name))}" if around else print_path((step,))


def parse_path(text: str) -> FieldPath:
    """Return the path of a text; raise ``InvalidPath`` with the place of a fault and what would be right there.

    >>> [step.name for step in parse_path('$header."trace.id"')]
    ['trace.id']
    """
    first = _FIRST.match(text)
    steps = [_first(first, text)] if first else []
    at = first.end() if first else 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None or (at == 0 and text.startswith(".")):
            raise InvalidPath(text, at, f"a name{' after a dot' if at else ''}, [], {{}} or <branch>")
        kind = StepKind(found.lastgroup)
        steps.append(Step(kind, _read(found[kind.value], text, at)))
        at = found.end()
    return tuple(steps)


def _first(found: re.Match[str], text: str) -> Step:
    if found["key"] is not None:
        return KEY
    if found["header"] is not None:
        return header(_read(found["header"], text, found.start("header")))
    if found["member"] in _RESERVED:
        raise InvalidPath(text, found.end(), "a dot and the name of a header after $header")
    return member(_read(found["member"], text, 0))


def _printed(kind: StepKind, name: str) -> str:
    pattern = _PLAIN.get(kind)
    is_plain = pattern is None or pattern.fullmatch(name) is not None
    return name if is_plain else json.dumps(name, ensure_ascii=False)


def _read(name: str, text: str, at: int) -> str:
    if not name.startswith('"'):
        return name
    try:
        return str(json.loads(name))
    except ValueError:
        raise InvalidPath(text, at, "a JSON string between the quotes") from None


# The resolution of field paths in a schema of any language.

_SHOWN_NAMES: Final = 20

NodeT = TypeVar("NodeT")


class PathTarget(NamedTuple):
    """The target of a path: its ``pointer`` in the schema's own text, and the ``node`` of the language's syntax tree.

    The pointer is empty for the schema itself and for an element that another text declares.
    """

    pointer: Pointer
    node: object


class PathFault(Exception):
    """A step has no target: ``problem`` describes the node at which it fails."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.depth = 0
        """The number of steps that could be resolved."""

    @classmethod
    def of_names(cls, around: str, kind: str, name: str, known: Collection[str]) -> Self:
        """Return the fault that ``name`` is not among ``known``; its text has similar names, or else the first ones."""
        alike = get_close_matches(name, known, n=3, cutoff=0.6) or list(known)[:_SHOWN_NAMES]
        shown = f"; it has {', '.join(alike)}" if alike else ""
        return cls(f"{around} has no {kind} {name!r}{shown}")


def follow(start: NodeT, path: FieldPath, inside: Callable[[NodeT, Step], NodeT]) -> NodeT:
    """Return the target of ``path`` from ``start``; ``inside`` resolves one step or raises ``PathFault``."""
    node = start
    for depth, step in enumerate(path):
        try:
            node = inside(node, step)
        except PathFault as fault:
            fault.depth = depth
            raise
    return node


class Resolving(Protocol):
    """A schema that resolves field paths."""

    def target_of(self, path: FieldPath) -> PathTarget:
        """Return the target of a path; raise ``PathFault`` for a step without a target."""


def resolve_path(schema: Resolving, path: FieldPath) -> PathTarget:
    """Return the target of ``path`` in ``schema``; raise ``PathNotFound`` if there is none.

    A path that starts at the record's key is resolved without that step, since ``schema`` is then that of the key. A
    header is always a ``PathNotFound``: headers have no schema.
    """
    inside = path[1:] if path and path[0].kind is StepKind.KEY else path
    if inside and inside[0].kind is StepKind.HEADER:
        raise PathNotFound(print_path(path), "", "headers have no schema")
    try:
        return schema.target_of(inside)
    except PathFault as fault:
        raise PathNotFound(print_path(path), print_path(inside[: fault.depth]), fault.problem) from None
