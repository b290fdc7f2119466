"""Subject names: the strategies, and what happens without the names that they need."""

from __future__ import annotations

import pytest

from counterfoil.sdk.errors import InvalidSettings, SubjectUnresolved
from counterfoil.sdk.subjects import RECORD, TOPIC, TOPIC_RECORD, resolve_subject


@pytest.mark.parametrize(
    ("strategy", "field", "subject"),
    [
        (TOPIC, "value", "rides-value"),
        (TOPIC, "key", "rides-key"),
        (RECORD, "value", "taxi.Ride"),
        (TOPIC_RECORD, "key", "rides-taxi.Ride"),
        ("TOPIC", "value", "rides-value"),
        ("TOPIC_RECORD", "value", "rides-taxi.Ride"),
        (lambda topic, field, record: f"{field}/{topic}/{record}", "key", "key/rides/taxi.Ride"),
    ],
)
def test_each_strategy_names_the_subject(strategy, field, subject):
    assert resolve_subject(strategy, topic="rides", field=field, record_name="taxi.Ride") == subject


@pytest.mark.parametrize(
    ("strategy", "topic", "record", "missing"),
    [
        (TOPIC, None, "taxi.Ride", "TOPIC needs a topic"),
        (TOPIC, "", "taxi.Ride", "TOPIC needs a topic"),
        (RECORD, "rides", None, "RECORD needs a schema with a name"),
        (TOPIC_RECORD, "rides", None, "TOPIC_RECORD needs a schema with a name"),
        (TOPIC_RECORD, None, "taxi.Ride", "TOPIC_RECORD needs a topic"),
    ],
)
def test_a_missing_name_is_named(strategy, topic, record, missing):
    with pytest.raises(SubjectUnresolved, match=missing) as caught:
        resolve_subject(strategy, topic=topic, field="value", record_name=record)
    assert (caught.value.topic, caught.value.field) == (topic, "value")


def test_an_unknown_strategy_lists_the_known():
    with pytest.raises(InvalidSettings, match="'ASSOCIATED'; expected one of TOPIC, RECORD, TOPIC_RECORD"):
        resolve_subject("ASSOCIATED", topic="t", field="value", record_name=None)


def test_a_users_strategy_that_fails_is_a_typed_error():
    with pytest.raises(SubjectUnresolved, match="KeyError: 'nowhere'") as caught:
        resolve_subject(lambda topic, *_: {}[f"{topic}"], topic="nowhere", field="key", record_name=None)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("given", [None, "", 7])
def test_a_users_strategy_must_give_a_name(given):
    with pytest.raises(SubjectUnresolved, match="expected a subject's name"):
        resolve_subject(lambda *_: given, topic="t", field="key", record_name=None)
