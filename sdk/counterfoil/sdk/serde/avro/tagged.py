"""Values of unions with the index of their branch, so that the converter writes the branch that it has read.

The base values of a union are such pairs where the class of a value does not tell its branch
(:func:`counterfoil.schema.plans.avro.is_tagged`); any other union is read and written without an index.
"""

from __future__ import annotations

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import AvroField, AvroKind, AvroUnion
from counterfoil.schema.plans.avro import is_tagged
from counterfoil.sdk.serde.avro.coders import AvroDecode, make_decoder
from counterfoil.sdk.serde.avro.plan import BranchStep, Step
from counterfoil.sdk.serde.avro.resolve import SchemaResolver
from counterfoil.sdk.serde.avro.values import default_with_branches


class TaggingResolver(SchemaResolver):
    """Makes plans that read a value of a tagged union as a pair of the reader's branch, by its index, and the value."""

    def branch(self, union: AvroUnion, number: int, step: Step) -> Step:
        """Return the step that reads a branch of the reader's union."""
        if self.is_skipping or union.branches[number].kind is AvroKind.NULL or not is_tagged(union):
            return step
        return BranchStep(number, step)

    def default(self, field: AvroField) -> Datum:
        """Return the value of a field's default, with indexes of branches. Raises ``InvalidDefault``."""
        return default_with_branches(field.type, field.default, _mark)


def compile_tagged_decoder(writer: AvroSchema, reader: AvroSchema | None = None, *, whole: bool = False) -> AvroDecode:
    """Return the function of :func:`.coders.compile_decoder`, whose values of tagged unions have their indexes.

    The schemas have no logical types.
    """
    return make_decoder(writer, reader, whole=whole, resolver=TaggingResolver()).decode


def _mark(union: AvroUnion, index: int, value: object) -> Datum:
    return (index, value) if value is not None and is_tagged(union) else value
