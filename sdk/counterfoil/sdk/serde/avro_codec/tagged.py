"""Values of unions with the index of their branch, so that the converter writes the branch that it has read.

The base values of a union are such pairs where the class of a value does not tell its branch
(:func:`counterfoil.schema.evolution.languages.avro.is_tagged`); any other union is read and written without an index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.base import is_tagged
from counterfoil.schema.formats.avro.types import Kind
from counterfoil.sdk.serde.avro_codec.decode import make_decoder
from counterfoil.sdk.serde.avro_codec.plan import BranchStep
from counterfoil.sdk.serde.avro_codec.resolve import Resolver
from counterfoil.sdk.serde.avro_codec.values import default_with_branches

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import Field, Union
    from counterfoil.sdk.serde.avro_codec.decode import Decode
    from counterfoil.sdk.serde.avro_codec.plan import Step


class TaggingResolver(Resolver):
    """Makes plans that read a value of a tagged union as a pair of the reader's branch, by its index, and the value."""

    def branch(self, union: Union, number: int, step: Step) -> Step:
        """Return the step that reads a branch of the reader's union."""
        if self.is_skipping or union.branches[number].kind is Kind.NULL or not is_tagged(union):
            return step
        return BranchStep(number, step)

    def default(self, field: Field) -> Any:
        """Return the value of a field's default, with indexes of branches. Raises ``InvalidDefault``."""
        return default_with_branches(field.type, field.default, _mark)


def compile_tagged_decoder(writer: AvroSchema, reader: AvroSchema | None = None, *, whole: bool = False) -> Decode:
    """Return the function of :func:`.decode.compile_decoder`, whose values of tagged unions have their indexes.

    The schemas have no logical types.
    """
    return make_decoder(writer, reader, whole=whole, resolver=TaggingResolver()).decode


def _mark(union: Union, index: int, value: Any) -> Any:
    return (index, value) if value is not None and is_tagged(union) else value
