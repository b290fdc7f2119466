"""Whatever a schema is and wherever its tags are: no marked text is written, logged, or sent to a dead letter topic."""

from __future__ import annotations

import logging
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from counterfoil.schema.model import Rule, RuleSet, Schema, SchemaType
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    SerializationContext,
)
from counterfoil.sdk.encryption.executors import FieldEncryption
from counterfoil.sdk.errors import NotEncrypted, RuleConditionFailed, RuleError
from counterfoil.sdk.serde.rules.settings import Override, Rules
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.encryption.tagged_trees import Tree, deciding_trees, trees

if TYPE_CHECKING:
    from collections.abc import Sequence

CTX = SerializationContext("people", "value")
PARAMS = {"encrypt.kek.name": "pii", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "one"}
PLAIN = Rules(overrides={"ENCRYPT": Override(disabled=True)})
SERIALIZERS: dict[SchemaType, tuple[Any, Any]] = {
    SchemaType.AVRO: (AvroSerializer, AvroDeserializer),
    SchemaType.JSON: (JsonSerializer, JsonDeserializer),
    SchemaType.PROTOBUF: (ProtobufSerializer, ProtobufDeserializer),
}


class Topic:
    """A subject with the schema of a tree, whose tag PII is encrypted; ``conf`` are the settings of the program."""

    def __init__(
        self, tree: Tree, *rules: Rule, mode: str = "WRITEREAD", after: Sequence[Rule] = (), **conf: Any
    ) -> None:
        self.tree = tree
        self.registry = InMemoryRegistry().client(retries=0)
        hide = Rule("hide", type="ENCRYPT", tags=("PII",), params=PARAMS, mode=mode)
        schema = Schema(tree.text, tree.schema_type, rule_set=RuleSet(domain_rules=(*rules, hide, *after)))
        self.registry.register("people-value", schema)
        self.conf = {"secret": "s3cret", **conf}

    def rules(self) -> Rules:
        return Rules(conf=self.conf, executors={"ENCRYPT": FieldEncryption()})

    def write(self, value: Any) -> bytes:
        serializer, _ = SERIALIZERS[self.tree.schema_type]
        data: bytes = serializer(self.registry, register="latest", rules=self.rules())(value, CTX)
        return data

    def written_or_refused(self, tree: Tree) -> bytes | None:
        """Return the message; None if the rule refuses it."""
        try:
            return self.write(tree.value)
        except RuleError as error:
            cause, text = error.__cause__, str(error)
        assert isinstance(cause, NotEncrypted), text
        assert not seen(tree.marked, text.encode())
        return None

    def bare_bytes(self) -> bytes:
        """Return the message without encryption."""
        serializer, _ = SERIALIZERS[self.tree.schema_type]
        data: bytes = serializer(self.registry, register="latest", rules=PLAIN)(self.tree.value, CTX)
        return data

    def read(self, data: bytes, rules: Rules | None = None) -> Any:
        _, deserializer = SERIALIZERS[self.tree.schema_type]
        more = {"values": "dict"} if self.tree.schema_type is SchemaType.PROTOBUF else {}
        return deserializer(self.registry, rules=rules or self.rules(), **more)(data, CTX)


def forms(value: Any) -> list[bytes]:
    """Return how a text or a number looks in bytes and logs: in plain text, or in base64."""
    plain = value if isinstance(value, bytes) else str(value).encode()
    return [plain, b64encode(plain).rstrip(b"=")]


def seen(values: Any, data: bytes) -> list[Any]:
    return [value for value in values if any(form in data for form in forms(value))]


def numbers(values: Any) -> list[Any]:
    return [value for value in values if isinstance(value, int)]


@pytest.mark.slow
@given(trees(), st.sampled_from(["confluent", "all"]))
def test_no_marked_text_is_written(tree: Tree, places: str) -> None:
    topic = Topic(tree, **{"encrypt.places": places})
    data = topic.written_or_refused(tree)
    if data is None:
        event(f"{tree.schema_type} {places}: refused")
        return
    event(f"{tree.schema_type} {places}: {'encrypted' if tree.marked else 'nothing is marked'}")
    assert not seen(tree.marked, data)
    assert not numbers(tree.marked)
    assert topic.read(data) == topic.read(topic.bare_bytes(), PLAIN)
    stored = topic.read(data, PLAIN)
    assert set(seen(tree.free, repr(stored).encode())) == tree.free


BOTH = frozenset({"PII", "OTHER"})


@pytest.mark.slow
@given(deciding_trees(wanted=BOTH), st.sampled_from(["confluent", "all", "all"]), st.sampled_from(["PII", "OTHER"]))
def test_no_text_is_written_that_another_text_marks_which_an_earlier_rule_encrypted(
    tree: Tree, places: str, first: str
) -> None:
    assert_two_rules_hide(tree, places, first)


@pytest.mark.long
@given(trees(wanted=BOTH), st.sampled_from(["confluent", "all"]), st.sampled_from(["PII", "OTHER"]))
def test_no_text_that_one_of_two_rules_marks_is_written(tree: Tree, places: str, first: str) -> None:
    assert_two_rules_hide(tree, places, first)


def assert_two_rules_hide(tree: Tree, places: str, first: str) -> None:
    """Write and read the value of a tree with a rule for each of two tags; ``first`` is the tag of the first rule."""
    other = Rule("other", type="ENCRYPT", tags=("OTHER",), params=PARAMS, mode="WRITEREAD")
    before, after = ((other,), ()) if first == "OTHER" else ((), (other,))
    topic = Topic(tree, *before, after=after, **{"encrypt.places": places})
    data = topic.written_or_refused(tree)
    if data is None:
        event(f"{tree.schema_type} {places}: refused")
        return
    event(f"{tree.schema_type} {places}: {'encrypted' if tree.marked else 'nothing is marked'}")
    assert not seen(tree.marked, data)
    assert topic.read(data) == topic.read(topic.bare_bytes(), PLAIN)
    assert set(seen(tree.free, repr(topic.read(data, PLAIN)).encode())) == tree.free


@pytest.mark.slow
@given(trees(has_tags=False))
def test_a_schema_without_tags_is_written_as_it_is(tree: Tree) -> None:
    data = Topic(tree).write(tree.value)
    plain = Topic(tree).bare_bytes()
    assert data == plain


@pytest.mark.slow
@given(trees())
def test_no_marked_text_is_in_a_dead_letter_or_in_a_log(tree: Tree) -> None:
    sent: list[tuple[Any, ...]] = []
    never = Rule("never", type="CEL", kind="CONDITION", mode="WRITE", expr="false", on_failure="DLQ")
    conf = {"dlq.topic": "dead", "producer": lambda *each: sent.append(each)}
    topic = Topic(tree, never, mode="READ", **conf)  # in the mode WRITE most of these rules would be refused before
    logged = Collected()
    logging.getLogger().addHandler(logged)
    try:
        with pytest.raises(RuleConditionFailed):
            topic.write(tree.value)
    finally:
        logging.getLogger().removeHandler(logged)
    assert not seen(tree.marked, "\n".join(logged.lines).encode())
    [(_, key, value, headers)] = sent
    assert not seen(tree.marked, repr((key, value, headers)).encode())


class Collected(logging.Handler):
    """What was logged."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))
