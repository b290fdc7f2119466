"""Values of unions with the index of their branch, so that the converter writes the branch that it has read.

The base values of a union are such pairs where the class of a value does not tell its branch
(:func:`counterfoil.schema.evolution.languages.avro.is_tagged`); any other union is read and written without an index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.evolution.base import is_tagged
from counterfoil.schema.formats.avro.types import Array, Kind, Map, Record, Union
from counterfoil.sdk.serde.avro_codec.decode import make_decoder
from counterfoil.sdk.serde.avro_codec.plan import BranchStep
from counterfoil.sdk.serde.avro_codec.resolve import Resolver
from counterfoil.sdk.serde.avro_codec.values import InvalidDefault, value_of_default

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType, Field, Json
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
        return _default(field.type, field.default)


def compile_tagged_decoder(writer: AvroSchema, reader: AvroSchema | None = None, *, whole: bool = False) -> Decode:
    """Return the function of :func:`.decode.compile_decoder`, whose values of tagged unions have their indexes.

    The schemas have no logical types.
    """
    return make_decoder(writer, reader, whole=whole, resolver=TaggingResolver()).decode


def _default(avro_type: AvroType, default: Json) -> Any:
    """Return the value of a default like :func:`.values.value_of_default`, with indexes of branches."""
    match avro_type, default:
        case Union(branches=branches), _:
            return _default_of_branch(avro_type, branches, default)
        case Array(items=items), list():
            return [_default(items, item) for item in default]
        case Map(values=values), dict():
            return {key: _default(values, item) for key, item in default.items()}
        case Record(fields=fields), dict() if all(field.name in default or field.has_default for field in fields):
            return {field.name: _default(field.type, default.get(field.name, field.default)) for field in fields}
    return value_of_default(avro_type, default)


def _default_of_branch(union: Union, branches: Sequence[AvroType], default: Json) -> Any:
    for index, branch in enumerate(branches):
        try:
            value = _default(branch, default)
        except InvalidDefault:
            continue
        return (index, value) if value is not None and is_tagged(union) else value
    return value_of_default(union, default)  # raises
