"""Regular expressions in contract files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from counterfoil.schema.documents.blocks import refusal, words

if TYPE_CHECKING:
    from counterfoil.schema.documents.nodes import Node

MAX_PATTERN_LENGTH: Final = 20_000
"""The largest length of a pattern in a contract, in characters; a compiled one takes memory in proportion to it."""


def pattern_of(node: Node) -> str:
    """Return a regular expression as it is written; raise ``InvalidDocument`` for one that cannot be compiled."""
    text = words(node, what="pattern")
    if len(text) > MAX_PATTERN_LENGTH:
        raise refusal(f"pattern has {len(text)} characters; expected at most {MAX_PATTERN_LENGTH}", node)
    try:
        re.compile(text)
    except re.error as mistake:
        raise refusal(f"pattern is no regular expression: {mistake}", node) from None
    return text
