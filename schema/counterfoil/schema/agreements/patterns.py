"""Regular expressions in contract files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from counterfoil.schema.documents.blocks import refusal, words

if TYPE_CHECKING:
    from counterfoil.schema.documents.nodes import Node


def pattern_of(node: Node) -> str:
    """Return a regular expression as it is written; raise ``InvalidDocument`` for one that cannot be compiled."""
    text = words(node, what="pattern")
    try:
        re.compile(text)
    except re.error as mistake:
        raise refusal(f"pattern is no regular expression: {mistake}", node) from None
    return text
