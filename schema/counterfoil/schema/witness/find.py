"""The search for a witness, whatever the language: each brings its own search, loaded when one is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from counterfoil.schema.logical.rules import RULES as TABLE_RULES
from counterfoil.schema.model import SchemaType
from counterfoil.schema.witness.defects import guarded
from counterfoil.schema.witness.model import NoWitness, Witness

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.protocol import ParsedSchema

_SEARCH_BY_TYPE: Final[Mapping[SchemaType, str]] = {
    SchemaType.AVRO: "counterfoil.schema.witness.avro.search",
    SchemaType.PROTOBUF: "counterfoil.schema.witness.protobuf.search",
    SchemaType.JSON: "counterfoil.schema.witness.jsonschema.search",
}
"""The module whose ``search_for_witness(reader, writer, difference)`` looks for a witness in schemas of a language."""

_ABOUT_TABLES: Final = frozenset(rule.id for rule in TABLE_RULES)


def find_witness(reader: ParsedSchema, writer: ParsedSchema, difference: Difference) -> Witness | None:
    """A datum that ``writer`` may write and ``reader`` cannot read because of ``difference``; None when none is found.

    :func:`search_for_witness` says also how many were tried, and why it gave up. Raises nothing: a schema that the
    decoder does not take has no witness.
    """
    return search_for_witness(reader, writer, difference) or None


def search_for_witness(reader: ParsedSchema, writer: ParsedSchema, difference: Difference) -> Witness | NoWitness:
    """The same as :func:`find_witness`; what comes back instead of None says how many data were tried, and why.

    Raises nothing: a search that fails by a defect of its own is one that found nothing, and the defect is logged.
    """
    return guarded(
        lambda: search_unguarded(reader, writer, difference),
        lambda reason: NoWitness(0, reason),
        reader,
        writer,
    )


def search_unguarded(reader: ParsedSchema, writer: ParsedSchema, difference: Difference) -> Witness | NoWitness:
    """The search itself, which lets its defects out; tests call it, so that none is hidden from them."""
    module = _SEARCH_BY_TYPE.get(writer.schema_type)
    if module is None:
        return NoWitness(0, f"no decoder of {writer.schema_type} is at hand")
    if reader.schema_type is not writer.schema_type:
        return NoWitness(0, "the two schemas are of different languages")
    if difference.rule in _ABOUT_TABLES:
        return NoWitness(0, "the rule is about the table in which records land, and not about reading them")
    search = cast(
        "Callable[[ParsedSchema, ParsedSchema, Difference], Witness | NoWitness]",
        import_module(module).search_for_witness,
    )
    return search(reader, writer, difference)
