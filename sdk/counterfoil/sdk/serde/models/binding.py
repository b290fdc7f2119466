"""A model beside a schema: the functions that turn its objects into values of the codec, and back."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from counterfoil.sdk.errors import EncodeError, SerdeError
from counterfoil.sdk.processes import PickledByArguments
from counterfoil.sdk.serde.models.avro_schema import avro_schema
from counterfoil.sdk.serde.models.describe import describe
from counterfoil.sdk.serde.models.making import compile_making, has_choices
from counterfoil.sdk.serde.models.making_walk import Names
from counterfoil.sdk.serde.models.matching import match_records
from counterfoil.sdk.serde.models.taking import compile_taking
from counterfoil.sdk.serde.places import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.sdk.serde.codec import Decode, Encode


class ModelConverter(PickledByArguments):
    """The conversions of a model as ``to_dict`` and ``from_dict`` of a serializer, one of Protobuf for example.

    Where a union has several models, :meth:`to_dict` makes pairs of name and dict, which Avro takes, and
    :meth:`from_dict` needs the name under the key ``-type``. Raises ``ModelError``.
    """

    def __init__(self, model: Any) -> None:
        root = describe(model)
        names = Names({}, is_sparse=True)
        self._take = compile_taking(root, names.name_of)
        self._make = compile_making(root, names)

    def to_dict(self, value: Any, ctx: object = None) -> Any:
        """Return the plain value of an object; a value that is of no model is returned as it is."""
        del ctx
        return self._take(value)

    def from_dict(self, value: Any, ctx: object = None) -> Any:
        """Return the object of a plain value, in which fields that are null or have a default may be missing.

        Raises ``DecodeError`` with the path.
        """
        del ctx
        return self._make(value)


class AvroModel:
    """A model whose objects are written and read as Avro. Raises ``ModelError``."""

    def __init__(self, model: Any) -> None:
        self._root = describe(model)
        self._shown = getattr(model, "__name__", str(model))

    @cached_property
    def schema(self) -> str:
        """The text of the schema that is derived from the model. Raises ``ModelError``."""
        return avro_schema(self._root)

    @property
    def needs_names(self) -> bool:
        """Whether the dicts that are read must name their records."""
        return has_choices(self._root)

    def encoder(self, encode: Encode, schema: AvroType) -> Encode:
        """Return a function that writes objects, on one that writes plain values of ``schema``."""
        take = self.taking(schema)
        return lambda value, prefix, /: encode(take(value), prefix)

    def decoder(self, decode: Decode, schema: AvroType) -> Decode:
        """Return a function that reads objects, on one that reads plain values of ``schema``."""
        make = self.making(schema)
        return lambda data, offset, /: make(decode(data, offset))

    def taking(self, schema: AvroType) -> Callable[[Any], Any]:
        """Return the function from objects to plain values of ``schema``; it raises ``EncodeError``."""
        take = compile_taking(self._root, Names(match_records(self._root, schema)).name_of)

        def take_object(value: Any, /) -> Any:
            try:
                return take(value)
            except SerdeError:
                raise
            except Exception as error:
                expected, got = self._shown, shown(value)
                problem = f"The value: expected a complete {expected}; got {got}: {type(error).__name__}: {error}"
                raise EncodeError(problem, expected=expected, got=got) from error

        return take_object

    def making(self, schema: AvroType) -> Callable[[Any], Any]:
        """Return the function from plain values of ``schema`` to objects."""
        return compile_making(self._root, Names(match_records(self._root, schema)))
