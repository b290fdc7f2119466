"""The conversion of one record's value in plain Python, which defines the result of every engine."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.messages.table import make_reader, make_writer, pack
from counterfoil.schema.counting import counted
from counterfoil.schema.evolution import ConversionError, FailureCode, PlanUnfinished, resolution_conflicts
from counterfoil.schema.evolution.evaluate import compile_op
from counterfoil.schema.wire import ID_PREFIX_BYTES, MAGIC_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.converter.messages.table import Packed
    from counterfoil.schema.evolution.model import Op


@dataclass(frozen=True)
class Converted:
    """The outcome of one value: the new ``value``, framed, or the ``failure``; exactly one is set."""

    value: bytes | None = None
    failure: ConversionError | None = None


@dataclass(frozen=True, eq=False)
class RecordRecipe:
    """A conversion as packed schemas and operations, which can be sent to another process."""

    root: Op
    source: Packed
    target: Packed
    writer_by_id: tuple[tuple[int, Packed], ...]
    target_id: int | None
    unframed_id: int | None

    @cached_property
    def digest(self) -> bytes:
        """A hash that is equal for equal recipes."""
        return hashlib.sha256(self.packed).digest()

    @cached_property
    def packed(self) -> bytes:
        """The recipe as bytes, from which :func:`converter_of` makes a converter."""
        return pickle.dumps((self.root, self.source, self.target, self.writer_by_id, self.target_id, self.unframed_id))


def recipe_of(conversion: Conversion) -> RecordRecipe:
    """Return the recipe of a conversion.

    Raises ``PlanUnfinished`` for a plan with problems, and ``EngineCannot`` when a writer's value would have another
    meaning as the source's, such as a timestamp whose unit changed.
    """
    plan = conversion.plan
    if plan.problems:
        raise PlanUnfinished(tuple(str(problem) for problem in plan.problems))
    for schema_id, writer in conversion.writer_by_id.items():
        for path, why in resolution_conflicts(writer, plan.source):
            raise EngineCannot("reference", field=f"{path} (schema id {schema_id})", why=why)
    return RecordRecipe(
        plan.root,
        pack(plan.source),
        pack(plan.target),
        tuple((schema_id, pack(writer)) for schema_id, writer in sorted(conversion.writer_by_id.items())),
        conversion.target_id,
        conversion.unframed_id,
    )


class RecordConverter:
    """Converts one value after the other. May be used from many threads."""

    def __init__(self, recipe: RecordRecipe) -> None:
        self._unframed_id = recipe.unframed_id
        self._ids = tuple(schema_id for schema_id, _ in recipe.writer_by_id)
        self._read = make_reader(recipe.source, dict(recipe.writer_by_id))
        self._evaluate: Callable[[Any], Any] = compile_op(recipe.root, "")
        self._write = make_writer(recipe.target, recipe.target_id)

    def convert_value(self, data: bytes) -> Converted:
        """Convert a value to the target's bytes, with the target's frame, and return them or the failure."""
        try:
            return Converted(value=self.convert(data))
        except ConversionError as failure:
            return Converted(failure=failure)

    def convert(self, data: bytes) -> bytes:
        """Convert a value and return the target's bytes, with its frame. Raises ``ConversionError``."""
        return self._write(self._evaluate(self._decoded(data)))

    def _decoded(self, data: bytes) -> Any:
        if self._unframed_id is not None:
            return self._read(self._unframed_id, data, 0)
        if len(data) < ID_PREFIX_BYTES or data[0] != MAGIC_ID:
            size = counted(len(data), "byte")
            text = f"{size} beginning with {data[:1].hex() or 'nothing'} are no id frame of magic byte 00"
            raise ConversionError(FailureCode.NOT_FRAMED, "", text)
        schema_id = int.from_bytes(data[1:ID_PREFIX_BYTES])
        if schema_id not in self._ids:
            text = f"schema id {schema_id} is none of {', '.join(map(str, self._ids))}"
            raise ConversionError(FailureCode.UNKNOWN_SCHEMA_ID, "", text)
        return self._read(schema_id, data, ID_PREFIX_BYTES)


@lru_cache(maxsize=8)
def converter_of(packed: bytes) -> RecordConverter:
    """Return the converter of a packed recipe; it is made once in each process."""
    return RecordConverter(RecordRecipe(*pickle.loads(packed)))  # noqa: S301 - these bytes come from our own driver
