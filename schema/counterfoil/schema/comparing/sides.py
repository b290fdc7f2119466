"""The lines of the two laid-out texts of a comparison."""

from __future__ import annotations

from functools import cached_property

from counterfoil.schema.comparing.parts import Parts
from counterfoil.schema.comparing.question import ComparisonQuestion
from counterfoil.schema.layout import SchemaLayout, lay_out
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.texts import Pointer


class LaidOutSides:
    """Both texts laid out, each when a line of it is first needed."""

    def __init__(self, question: ComparisonQuestion) -> None:
        self._question = question

    def lay_out_both(self) -> Parts[None]:
        """Lay out both texts, each in a part of its own."""
        self._earlier.line_of(())
        yield
        self._later.line_of(())
        yield

    def line_in(self, schema: ParsedSchema, pointer: Pointer) -> int | None:
        """Return the line of a place in one of the two schemas."""
        layout = self._later if schema is self._question.later.schema else self._earlier
        return layout.line_of(pointer)

    @cached_property
    def _earlier(self) -> SchemaLayout:
        return lay_out(self._question.earlier.schema)

    @cached_property
    def _later(self) -> SchemaLayout:
        return lay_out(self._question.later.schema)
