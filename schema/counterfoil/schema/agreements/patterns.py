"""Regular expressions in contract files: those of ECMA 262, as the standards of contracts and JSON Schema say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.documents.blocks import refusal, words

if TYPE_CHECKING:
    from counterfoil.schema.documents.nodes import Node

MAX_PATTERN_LENGTH: Final = 20_000
"""The largest length of a pattern in a contract, in characters; a compiled one takes memory in proportion to it."""


def pattern_of(node: Node) -> str:
    """Return a regular expression as it is written; raise ``InvalidDocument`` for one that cannot be compiled."""
    from counterfoil.schema.formats.jsonschema.read.patterns import (  # few contracts have a pattern
        MAX_EXPANDED_SIZE,
        expanded_size,
        is_too_large,
        mistake_in_pattern,
    )

    text = words(node, what="pattern")
    if len(text) > MAX_PATTERN_LENGTH:
        raise refusal(f"pattern has {len(text)} characters; expected at most {MAX_PATTERN_LENGTH}", node)
    if is_too_large(text):
        problem = f"pattern has {expanded_size(text)} parts after its repetitions; expected at most {MAX_EXPANDED_SIZE}"
        raise refusal(problem, node)
    mistake = mistake_in_pattern(text)
    if mistake is not None:
        raise refusal(f"pattern is no regular expression: {mistake}", node)
    return text
