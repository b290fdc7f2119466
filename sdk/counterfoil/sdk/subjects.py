"""The subject under which a record's schema is registered: three named strategies, and any callable.

Source: Confluent's documentation of subject name strategies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from counterfoil.sdk.errors import InvalidSettings, SubjectUnresolved

Field: TypeAlias = Literal["key", "value"]
"""The part of a Kafka record that is serialized."""


SubjectStrategy: TypeAlias = Callable[[str | None, Field, str | None], str]
"""Names the subject from topic, field and the full name of the schema's top-level type; either name may be None.

TOPIC, RECORD and TOPIC_RECORD are strategies, and so is any such function; it raises ``SubjectUnresolved`` when a name
that it needs is missing.
"""


def TOPIC(topic: str | None, field: Field, record_name: str | None) -> str:  # noqa: N802 - a constant to its users, as in Confluent's settings
    """``{topic}-key`` or ``{topic}-value``: one schema for each half of a topic.

    >>> TOPIC("rides", "value", "taxi.Ride")
    'rides-value'
    """
    _ = record_name
    return f"{_needed(topic, 'a topic', 'TOPIC', topic, field)}-{field}"


def RECORD(topic: str | None, field: Field, record_name: str | None) -> str:  # noqa: N802 - as above
    """Return the record's full name: the same subject in every topic.

    >>> RECORD("rides", "value", "taxi.Ride")
    'taxi.Ride'
    """
    return _needed(record_name, "a schema with a name", "RECORD", topic, field)


def TOPIC_RECORD(topic: str | None, field: Field, record_name: str | None) -> str:  # noqa: N802 - as above
    """``{topic}-{record's full name}``: several schemas for one topic.

    >>> TOPIC_RECORD("rides", "value", "taxi.Ride")
    'rides-taxi.Ride'
    """
    found = _needed(topic, "a topic", "TOPIC_RECORD", topic, field)
    return f"{found}-{_needed(record_name, 'a schema with a name', 'TOPIC_RECORD', topic, field)}"


_STRATEGY_BY_NAME: dict[str, SubjectStrategy] = {
    "TOPIC": TOPIC,
    "RECORD": RECORD,
    "TOPIC_RECORD": TOPIC_RECORD,
}


def strategy_named(name: str) -> SubjectStrategy:
    """Return the strategy that Confluent's ``subject.name.strategy.type`` calls ``name``.

    Raises ``InvalidSettings``.
    """
    found = _STRATEGY_BY_NAME.get(name)
    if found is None:
        names = ", ".join(_STRATEGY_BY_NAME)
        raise InvalidSettings(f"Unknown subject name strategy {name!r}; expected one of {names}", setting="subject")
    return found


def resolve_subject(
    strategy: SubjectStrategy | str, *, topic: str | None, field: Field, record_name: str | None
) -> str:
    """Return the subject by a strategy or its name.

    An exception or a result that is not a name of a user's strategy becomes ``SubjectUnresolved``.
    """
    chosen = strategy_named(strategy) if isinstance(strategy, str) else strategy
    try:
        subject = chosen(topic, field, record_name)
    except SubjectUnresolved:
        raise
    except Exception as error:
        raise SubjectUnresolved(
            f"The subject name strategy failed: {type(error).__name__}: {error}", topic=topic, field=field
        ) from error
    if not isinstance(subject, str) or not subject:
        raise SubjectUnresolved(
            f"The subject name strategy gave {subject!r}; expected a subject's name", topic=topic, field=field
        )
    return subject


def _needed(value: str | None, what: str, strategy: str, topic: str | None, field: Field) -> str:
    if not value:
        raise SubjectUnresolved(f"The subject name strategy {strategy} needs {what}", topic=topic, field=field)
    return value
