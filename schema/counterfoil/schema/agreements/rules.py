"""The rules about what consumers read and contracts promise, as a table. Ids never change their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from counterfoil.schema.compatibility.findings import CONSUMER_UNDECIDED


@dataclass(frozen=True, slots=True)
class ReadRule:
    """A rule: whether a finding ``is_breaking`` (else it is a warning), ``why``, and how to ``fix`` it."""

    id: str
    is_breaking: bool
    why: str
    fix: str


UNDECIDED: Final = CONSUMER_UNDECIDED
"""The rule of a comparison that did not end within its limits, so that the answer is unknown."""

RULES: Final = (
    ReadRule(
        "consumer-field-missing",
        is_breaking=True,
        why="A consumer reads a field that the new schema does not have.",
        fix="Keep the field and deprecate it until nobody reads it, or approve the break with a converter.",
    ),
    ReadRule(
        "consumer-type-narrowed",
        is_breaking=True,
        why="A consumer relies on a type that values of the new schema do not always have.",
        fix="Add a new field with the new type, and deprecate this one.",
    ),
    ReadRule(
        "consumer-incompatible",
        is_breaking=True,
        why="A consumer that reads the whole record cannot read records of the new schema, or the new schema is in "
        "another language than the one that a consumer reads.",
        fix="Declare which fields the consumer reads, or keep the schemas compatible.",
    ),
    ReadRule(
        "consumer-nullable",
        is_breaking=True,
        why="A consumer requires a value, and records of the new schema may be without it.",
        fix="Keep the field required.",
    ),
    ReadRule(
        "consumer-enum-unknown",
        is_breaking=True,
        why="A consumer fails on values of an enum that it does not know, and the new schema has more than it lists. "
        "It says so (onUnknownEnum: fail), or its language refuses them and it does not say that it handles them.",
        fix="Let the consumer handle unknown values first (onUnknownEnum: default, and in Avro a default in its enum), "
        "then add the value.",
    ),
    ReadRule(
        "consumer-enum-kept",
        is_breaking=False,
        why="The new schema has a value of an enum that a consumer does not know, and the consumer does not say what "
        "it does with it. Its language does not fail: Protobuf keeps the number, Avro reads the default of the enum.",
        fix="Write onUnknownEnum in the consumer's file: fail if it must not meet the value, else default or pass.",
    ),
    ReadRule(
        UNDECIDED,
        is_breaking=False,
        why="The comparison of the new schema with that of a consumer ended at its limits, so that it is not "
        "known whether the consumer can read its records.",
        fix="Take alternatives, references or nested types out of the schema, so that it can be compared.",
    ),
    ReadRule(
        "expectation-broken",
        is_breaking=True,
        why="What a consumer expects of a value contradicts what the contract promises.",
        fix="Promise what the consumer expects, or agree on another expectation.",
    ),
    ReadRule(
        "expectation-unbacked",
        is_breaking=False,
        why="A consumer expects something of a value that the contract does not promise, so that it may end any day.",
        fix="Ask the producer to promise it in the contract.",
    ),
    ReadRule(
        "unit-changed",
        is_breaking=True,
        why="The unit of a field changes, so that every consumer computes with wrong numbers without an error.",
        fix="Add a new field with the new unit, and deprecate this one.",
    ),
    ReadRule(
        "enum-symbol-added-closed",
        is_breaking=True,
        why="A value is added to an enum that the contract declares as closed.",
        fix="Agree with the consumers, and declare the enum as open first.",
    ),
    ReadRule(
        "enum-meaning-changed",
        is_breaking=False,
        why="A value of an enum has another description, so that its meaning may have changed.",
        fix="If the meaning changed, add a new value; otherwise nothing needs to be done.",
    ),
    ReadRule(
        "pii-tag-removed",
        is_breaking=True,
        why="A field is no longer tagged as personal data, so that nobody protects it any more.",
        fix="Keep the tag, or have the owner confirm that the field holds no personal data.",
    ),
    ReadRule(
        "pii-newly-read",
        is_breaking=False,
        why="A consumer newly reads a field that is tagged as personal data.",
        fix="Have the owner of the field agree.",
    ),
    ReadRule(
        "key-changed",
        is_breaking=True,
        why="The key of the records changes, so that partitions, joins and compaction change for every consumer.",
        fix="Write the new key to a new topic.",
    ),
    ReadRule(
        "key-schema-changed",
        is_breaking=False,
        why="The keys get another schema, and with it another schema id in their bytes. Kafka's partitioner computes "
        "the partition from the bytes, so that later records of a key may be in another partition than earlier ones, "
        "which ends their order, and compaction takes both for different keys. This does not apply to keys whose "
        "schema id is in a header, or that are written without one.",
        fix="Keep the schema of the keys, or write the new keys to a new topic.",
    ),
    ReadRule(
        "header-missing",
        is_breaking=True,
        why="A header that was promised, or that a consumer reads, is no longer promised.",
        fix="Keep the header.",
    ),
)
RULE_BY_ID: Final[Mapping[str, ReadRule]] = {rule.id: rule for rule in RULES}
