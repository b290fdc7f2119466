"""Two decoders, fastavro and Apache Avro's for Java: what one cannot read the other cannot, and what is read is read.

The decoder for Java is not quite the specification's; where it differs the condition is named below, and says exactly
what it asks of the pair.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from java_oracle import ask_java
from pairs import COUNT, pairs, parsed_pairs

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Confirmation, NoWitness, Witness
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.judgement import confirm_compatible, search_for_witness
from counterfoil.schema.languages.avro.attributes import is_usable_default
from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.sample_values import NoDatum
from counterfoil.schema.languages.avro.types import AvroRecord, AvroUnion
from counterfoil.schema.languages.avro.witness import written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.schema.languages.avro.types import AvroType

VALUES = 40
UNPROVED = (
    "only names of records differ",  # decoders read records by structure
    "finite size",  # the writer cannot write a value there
    "unhashable type: 'dict'",  # fastavro fails while it words its refusal of a fixed in a union
)


@cache
def incompatible() -> tuple[tuple[int, list[tuple[str, Witness | NoWitness]]], ...]:
    """The number of each incompatible pair, and what was found for each of its differences."""
    return tuple(
        (number, [(each.rule, search_for_witness(*pair, each)) for each in dict.fromkeys(found)])
        for number, pair in enumerate(parsed_pairs())
        if (found := find_differences(*pair))
    )


@cache
def compatible() -> tuple[tuple[int, Confirmation, list[bytes]], ...]:
    """The number of each compatible pair, what fastavro made of its values, and these."""
    return tuple(
        (number, confirm_compatible(*pair, VALUES), bodies(pair[1]))
        for number, pair in enumerate(parsed_pairs())
        if not find_differences(*pair)
    )


def bodies(writer: AvroSchema) -> list[bytes]:
    try:
        return [body for _, body in written(writer, VALUES)]
    except (NoDatum, CounterfoilError):
        return []


def read_by_java(numbers: Sequence[int], data: Sequence[list[bytes]]) -> list[list[str | None]]:
    answers: list[dict[str, Any]] = ask_java([pairs()[number] for number in numbers], data)
    return [answer["read"] for answer in answers]


def test_no_witness_is_read_by_java():
    asked = [(number, [found.body for _, found in each if found]) for number, each in incompatible()]
    answers = read_by_java(*zip(*asked, strict=True))
    assert [pairs()[number] for (number, _), read in zip(asked, answers, strict=True) if None in read] == []
    assert sum(len(each) for _, each in asked) > COUNT // 3


def test_every_difference_has_a_witness_but_for_named_reasons():
    unproved = [
        (pairs()[number], found.reason)
        for number, each in incompatible()
        for rule, found in each
        if isinstance(found, NoWitness)
        and rules_by_id()[rule].promises_witness
        and not any(reason in found.reason for reason in UNPROVED)
        and not calls_two_kinds_alike(parsed_pairs()[number][1])
        and not takes_one_field_twice(parsed_pairs()[number][0])
    ]
    assert unproved == []


def calls_two_kinds_alike(writer: AvroSchema) -> bool:
    """fastavro looks at names alone where it chooses a branch, and reads, say, a fixed as the enum of its name."""
    named = [*writer.named.values()]
    return any(one.name == other.name and one.kind is not other.kind for one, other in combinations(named, 2))


def takes_one_field_twice(reader: AvroSchema) -> bool:
    """Two fields that the same field of the writer fills, one by an alias: fastavro fills the one of that name."""
    names = [
        [name for field in record.fields for name in {field.name, *field.aliases}]
        for record in reader.named.values()
        if isinstance(record, AvroRecord)
    ]
    return any(len(each) != len(set(each)) for each in names)


def rules_by_id() -> dict[str, Any]:
    return {rule.id: rule for rule in rules.RULES}


def test_what_is_compatible_is_read_by_fastavro_or_sound_says_why_not():
    unexplained = []
    for number, confirmation, _ in compatible():
        pair = parsed_pairs()[number]
        if (
            confirmation.counter_witness
            and not find_differences(*pair, policy=CompatibilityPolicy.SOUND)
            and not calls_two_branches_alike(pair[0])
        ):
            unexplained.append((pairs()[number], confirmation.counter_witness))
    assert unexplained == []
    assert sum(each.round_tripped == VALUES for _, each, _ in compatible()) > len(compatible()) * 4 // 5


def test_what_is_compatible_is_read_by_java():
    asked = [(number, data) for number, _, data in compatible()]
    answers = read_by_java(*zip(*asked, strict=True))
    unexplained = []
    for (number, _), read in zip(asked, answers, strict=True):
        failure = next(filter(None, read), None)
        pair = parsed_pairs()[number]
        if failure and not has_an_unusable_default(*pair) and not goes_by_namespaces(*pair, failure):
            unexplained.append((pairs()[number], failure))
    assert unexplained == []


def has_an_unusable_default(reader: AvroSchema, writer: AvroSchema) -> bool:
    """The decoder for Java looks at every default of both schemas, also at those that it does not need.

    Of a union it knows the default of the first branch alone, as older specifications had it.
    """
    return not all(map(_is_strictly_valid, (reader, writer)))


def goes_by_namespaces(reader: AvroSchema, writer: AvroSchema, failure: str) -> bool:
    """For enums, fixeds and the aliases of fields it goes by full names; the specification by names alone."""
    names = [(mine, theirs) for mine in reader.named for theirs in writer.named if mine != theirs]
    return "Found " in failure and any(_short(mine) == _short(theirs) for mine, theirs in names)


def calls_two_branches_alike(reader: AvroSchema) -> bool:
    """fastavro takes the first branch that has the writer's name, without namespace, and reads on with that alone.

    The specification says so; the checkers go on to a branch of that name that reads, and Java's decoder asks for the
    full name first.
    """
    return any(_short(one) == _short(other) for one, other in combinations(reader.named, 2))


def _short(full_name: str) -> str:
    return full_name.rpartition(".")[2]


def _is_strictly_valid(schema: AvroSchema) -> bool:
    fields = [field for each in schema.named.values() if isinstance(each, AvroRecord) for field in each.fields]
    return all(is_usable_default(_first_branch(field.type), field.default) for field in fields if field.has_default)


def _first_branch(node: AvroType) -> AvroType:
    return node.branches[0] if isinstance(node, AvroUnion) and node.branches else node
