"""The offsets of values in a JSON text, by pointer.

Source: RFC 8259; RFC 6901 for pointers.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from functools import cached_property
from typing import Final

from counterfoil.schema.texts import Pointer, print_pointer

LEXEME: Final = re.compile(
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]|/\*[\s\S]*?\*/|//[^\n\r]*+|[^\s"\[\]{},:/]++)', re.DOTALL
)
"""A text, a bracket, comma or colon, a comment, or a number or word of JSON."""


class JsonOffsets:
    """The offsets of all values in a valid JSON text, by pointer; of two equal keys the last one counts.

    They take memory in proportion to the text, however deep its values are: no pointer is kept as a whole.
    ``long_comments`` are the offsets of comments of several lines.
    """

    def __init__(self, text: str) -> None:
        self.long_comments: list[tuple[int, int]] = []
        self._starts = array("l")
        self._parents = array("l")
        self._steps: list[str | int] = []
        self._scan(text)

    def find(self, pointer: Pointer) -> int | None:
        """Return the offset of the value at a pointer; None if there is none."""
        node: int | None = 0
        for step in pointer:
            node = self._inner.get((node, str(step)))
            if node is None:
                return None
        return self._starts[node] if node is not None else None

    def offset_of(self, pointer: Pointer) -> int | None:
        """Return the offset of the value at a pointer, or of its nearest ancestor."""
        node = 0
        for step in pointer:
            inner = self._inner.get((node, str(step)))
            if inner is None:
                break
            node = inner
        return self._starts[node] if self._starts else None

    def first_between(self, start: int, end: int) -> str:
        """Return the pointer of the first value that begins there, as a text."""
        node = bisect_left(self._starts, start)
        if node >= len(self._starts) or self._starts[node] >= end:
            return ""
        steps: list[str | int] = []
        while node:
            steps.append(self._steps[node])
            node = self._parents[node]
        return print_pointer(tuple(reversed(steps)))

    @cached_property
    def _inner(self) -> dict[tuple[int | None, str], int]:
        """The values by those around them and their steps."""
        return {
            (parent, str(step)): node
            for node, (parent, step) in enumerate(zip(self._parents, self._steps, strict=True))
            if node
        }

    def _scan(self, text: str) -> None:
        """Find every value; the numbers of those around one are on a stack."""
        stack: list[int] = []
        counts: list[int] = []
        step: str | int = ""
        awaits_key = False
        starts, parents, steps = self._starts, self._parents, self._steps
        for found in LEXEME.finditer(text):
            lexeme = found[0]
            first = lexeme[0]
            if first == ",":
                awaits_key = counts[-1] < 0
                continue
            if first == ":":
                awaits_key = False
                continue
            if first in "}]":
                stack.pop()
                counts.pop()
                awaits_key = False
                continue
            if first == "/":
                if "\n" in lexeme:
                    self.long_comments.append(found.span())
                continue
            if awaits_key:
                step = json.loads(lexeme, strict=False) if "\\" in lexeme else lexeme[1:-1]
                continue
            if stack and counts[-1] >= 0:
                step = counts[-1]
                counts[-1] += 1
            if first in "{[":
                awaits_key = first == "{"
                node = len(starts)
                starts.append(found.start())
                parents.append(stack[-1] if stack else 0)
                steps.append(step)
                stack.append(node)
                counts.append(-1 if awaits_key else 0)
                continue
            starts.append(found.start())
            parents.append(stack[-1] if stack else 0)
            steps.append(step)
