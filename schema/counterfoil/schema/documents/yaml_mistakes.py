"""What is wrong with a text that is not YAML, in the words of those who write it, and where."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.documents.nodes import InvalidDocument
from counterfoil.schema.position import Position

if TYPE_CHECKING:
    import yaml


class _Words(NamedTuple):
    """The words for a problem that PyYAML finds; ``is_around``: its place is where the part around it begins."""

    problem: re.Pattern[str]
    text: str
    is_around: bool = False


_WORDS: Final = tuple(
    _Words(re.compile(pattern), *rest)
    for pattern, *rest in (
        (r"'\\t'", "a tab; expected spaces"),
        (r"expected <block end>", "this line is not indented as the entries to which it belongs"),
        (
            r"mapping values are not allowed",
            "a key is not expected here; indent it as the keys around it, or put a text with a colon in quotes",
        ),
        (r"could not find expected ':'", "a key without a colon", True),
        (r"unexpected end of stream", "the quotation mark here is not closed", True),
        (r"expected ',' or '(.)'", r"the bracket here is not closed; expected a comma or \1", True),
        (r"expected the node content, but found '<stream end>'", "the file ends where a value is expected"),
        (r"found character '(.)' that cannot start", r"a value cannot begin with \1; put it in quotes"),
        (r"expected '<document start>', but found '(.*)'", r"'\1' is not expected after the end of the document"),
    )
)
_CONFLICT_START: Final = re.compile(r"^<{7} ", re.MULTILINE)
_CONFLICT_END: Final = re.compile(r"^>{7} ", re.MULTILINE)
CONFLICT: Final = "the file has an unresolved conflict of a merge; keep one side"
"""The sentence about a text with the markers of git."""


def conflict_in(text: str) -> Position | None:
    """Return the place of the first marker of a conflict that git has left in a text of any language; else None."""
    start = _CONFLICT_START.search(text)
    if start is None or not _CONFLICT_END.search(text, start.end()):
        return None
    return Position(text.count("\n", 0, start.start()) + 1, 1)


def mistake_of(error: yaml.MarkedYAMLError) -> InvalidDocument:
    """Return the error about a text that PyYAML cannot read."""
    problem, mark = str(error.problem), error.problem_mark or error.context_mark
    for words in _WORDS:
        if (found := words.problem.search(problem)) is not None:
            problem = found.expand(words.text)
            mark = (error.context_mark if words.is_around else None) or mark
            break
    return InvalidDocument(f"not YAML: {problem}", Position(mark.line + 1, mark.column + 1) if mark else None)
