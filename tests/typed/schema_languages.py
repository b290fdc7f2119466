"""The modules in the folder of each schema language have the types that ``SchemaLanguage`` expects of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from counterfoil.schema.languages.avro import decoding as avro_decoding
from counterfoil.schema.languages.avro import diff as avro_diff
from counterfoil.schema.languages.avro import marks as avro_marks
from counterfoil.schema.languages.avro import outline as avro_outline
from counterfoil.schema.languages.avro import policies as avro_policies
from counterfoil.schema.languages.avro import table_type as avro_table_type
from counterfoil.schema.languages.avro import witness as avro_witness
from counterfoil.schema.languages.avro.compare import rules as avro_rules
from counterfoil.schema.languages.avro.schema import AvroSchema, parse_avro
from counterfoil.schema.languages.jsonschema import decoding as jsonschema_decoding
from counterfoil.schema.languages.jsonschema import diff as jsonschema_diff
from counterfoil.schema.languages.jsonschema import marks as jsonschema_marks
from counterfoil.schema.languages.jsonschema import outline as jsonschema_outline
from counterfoil.schema.languages.jsonschema import policies as jsonschema_policies
from counterfoil.schema.languages.jsonschema import table_type as jsonschema_table_type
from counterfoil.schema.languages.jsonschema import witness as jsonschema_witness
from counterfoil.schema.languages.jsonschema.compare import rules as jsonschema_rules
from counterfoil.schema.languages.jsonschema.schema import JsonSchema, parse_json_schema
from counterfoil.schema.languages.protobuf import decoding as protobuf_decoding
from counterfoil.schema.languages.protobuf import diff as protobuf_diff
from counterfoil.schema.languages.protobuf import marks as protobuf_marks
from counterfoil.schema.languages.protobuf import outline as protobuf_outline
from counterfoil.schema.languages.protobuf import policies as protobuf_policies
from counterfoil.schema.languages.protobuf import table_type as protobuf_table_type
from counterfoil.schema.languages.protobuf import witness as protobuf_witness
from counterfoil.schema.languages.protobuf.compare import rules as protobuf_rules
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema, parse_protobuf
from counterfoil.schema.parsed import ParsedSchema, Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.schema.change import Change
    from counterfoil.schema.compatibility import CompatibilityPolicy
    from counterfoil.schema.compatibility.findings import (
        CompatibilityRule,
        Confirmation,
        Difference,
        NoWitness,
        Witness,
    )
    from counterfoil.schema.languages.byte_walk import ByteWalk, ReadValue, ValueTree, WalkedBytes
    from counterfoil.schema.languages.references import FileReferences, Outline
    from counterfoil.schema.languages.table_types import Column, ColumnCount
    from counterfoil.schema.marks import Entity, FieldTags, TagEdit, TaggedPlace
    from counterfoil.schema.model import ResolvedReference

S = TypeVar("S", bound=ParsedSchema)
S_co = TypeVar("S_co", bound=ParsedSchema, covariant=True)
S_contra = TypeVar("S_contra", bound=ParsedSchema, contravariant=True)


class Parse(Protocol[S_co]):
    def __call__(self, text: str, references: Sequence[ResolvedReference], *, validation: Validation) -> S_co: ...


class FindDifferences(Protocol[S_contra]):
    def __call__(self, reader: S_contra, writer: S_contra, *, policy: CompatibilityPolicy) -> Sequence[Difference]: ...


class Language(Generic[S]):
    """The types of everything that ``SchemaLanguage`` loads from the folder of a language."""

    def __init__(
        self,
        *,
        parse: Parse[S],
        rules: Sequence[CompatibilityRule],
        references: FileReferences,
        outline: Callable[[str], Outline | None],
        find_differences: FindDifferences[S],
        find_changes: Callable[[S, S], list[Change]],
        search_for_witness: Callable[[S, S, Difference], Witness | NoWitness],
        confirm_compatible: Callable[[S, S, int], Confirmation],
        decode_body: Callable[[S, ByteWalk, Sequence[int]], ValueTree],
        read_as: Callable[[S, S, WalkedBytes], ReadValue],
        table_column: Callable[[S, ColumnCount], Column],
        find_tags: Callable[[S], list[tuple[Entity, tuple[str, ...]]]],
        edit_tags: Callable[[S, TagEdit], str],
        places: Callable[[S, FieldTags], Iterator[TaggedPlace]],
    ) -> None: ...


Language[AvroSchema](
    parse=parse_avro,
    rules=avro_rules.RULES,
    references=avro_outline.REFERENCES,
    outline=avro_outline.outline,
    find_differences=avro_policies.find_differences,
    find_changes=avro_diff.find_changes,
    search_for_witness=avro_witness.search_for_witness,
    confirm_compatible=avro_witness.confirm_compatible,
    decode_body=avro_decoding.decode_body,
    read_as=avro_decoding.read_as,
    table_column=avro_table_type.table_column,
    find_tags=avro_outline.find_tags,
    edit_tags=avro_outline.edit_tags,
    places=avro_marks.places,
)
Language[ProtobufSchema](
    parse=parse_protobuf,
    rules=protobuf_rules.RULES,
    references=protobuf_outline.REFERENCES,
    outline=protobuf_outline.outline,
    find_differences=protobuf_policies.find_differences,
    find_changes=protobuf_diff.find_changes,
    search_for_witness=protobuf_witness.search_for_witness,
    confirm_compatible=protobuf_witness.confirm_compatible,
    decode_body=protobuf_decoding.decode_body,
    read_as=protobuf_decoding.read_as,
    table_column=protobuf_table_type.table_column,
    find_tags=protobuf_outline.find_tags,
    edit_tags=protobuf_outline.edit_tags,
    places=protobuf_marks.places,
)
Language[JsonSchema](
    parse=parse_json_schema,
    rules=jsonschema_rules.RULES,
    references=jsonschema_outline.REFERENCES,
    outline=jsonschema_outline.outline,
    find_differences=jsonschema_policies.find_differences,
    find_changes=jsonschema_diff.find_changes,
    search_for_witness=jsonschema_witness.search_for_witness,
    confirm_compatible=jsonschema_witness.confirm_compatible,
    decode_body=jsonschema_decoding.decode_body,
    read_as=jsonschema_decoding.read_as,
    table_column=jsonschema_table_type.table_column,
    find_tags=jsonschema_outline.find_tags,
    edit_tags=jsonschema_outline.edit_tags,
    places=jsonschema_marks.places,
)
