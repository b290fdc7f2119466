"""The text form of field paths, in reports, contract files and options. Parsing is the inverse of printing.

======================  ====================================================================================
``order.id``            the field ``id`` inside the field ``order``
``items[].sku``         a field of the items of an array; ``pair[1]`` is the second item of a tuple
``attrs{}``             the values of a map; ``{^x-}`` are those whose keys match a pattern
``payment<Card>``       the branch of a union by its type's name, of ``oneOf`` by its number, of a oneof by its field
``(card is there)``     in JSON Schema, the schema that applies if an object has the property ``card``
``$key.id``             a field of the record's key
``$header.trace_id``    a header of the record
======================  ====================================================================================

The empty text is the whole record. In Protobuf a path may start with the name of a message, if it is not in the first
one. A name that could be parsed as one of these signs is written as a JSON string: ``"a.b"``.
"""

from __future__ import annotations

import json
import re
from functools import reduce
from typing import TYPE_CHECKING, Final

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.paths.errors import InvalidPath
from counterfoil.schema.paths.model import KEY, FieldPath, Step, StepKind, header, member

if TYPE_CHECKING:
    from collections.abc import Mapping

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

    >>> from counterfoil.schema.paths.model import ITEMS, branch, member
    >>> print_path((member("lines"), ITEMS, branch("Card"), member("last 4"), member("a.b")))
    'lines[]<Card>.last 4."a.b"'
    """
    text = "".join(_FORM[kind].format(_printed(kind, name)) for kind, name in path)
    if not path or path[0].kind is not StepKind.MEMBER:
        return text
    return f'"{path[0].name}"{text[len(path[0].name) + 1 :]}' if path[0].name in _RESERVED else text[1:]


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
