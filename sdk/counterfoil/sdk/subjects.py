"""The subject under which a record's schema is registered: four named strategies, and any callable.

Source: Confluent's documentation of subject name strategies, and of associations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from counterfoil.sdk.errors import InvalidSettings, SubjectUnresolved

if TYPE_CHECKING:
    from counterfoil.sdk.script import Script


Field: TypeAlias = Literal["key", "value"]
"""The part of a Kafka record that is serialized."""


SubjectStrategy: TypeAlias = Callable[[str | None, Field, str | None], str]
"""Names the subject from topic, field and the full name of the schema's top-level type; either name may be None.

TOPIC, RECORD and TOPIC_RECORD are strategies, and so is any such function; it raises ``SubjectUnresolved`` when a name
that it needs is missing.
"""


_A_TOPIC: Final = "a topic: a SerializationContext(topic, field) as the second argument"


def TOPIC(topic: str | None, field: Field, record_name: str | None) -> str:  # noqa: N802 - a constant to its users, as in Confluent's settings
    """``{topic}-key`` or ``{topic}-value``: one schema for each half of a topic.

    >>> TOPIC("rides", "value", "taxi.Ride")
    'rides-value'
    """
    _ = record_name
    return f"{_needed(topic, _A_TOPIC, 'TOPIC', topic, field)}-{field}"


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
    found = _needed(topic, _A_TOPIC, "TOPIC_RECORD", topic, field)
    return f"{found}-{_needed(record_name, 'a schema with a name', 'TOPIC_RECORD', topic, field)}"


ANY_CLUSTER = "-"
"""The namespace of associations when the id of the Kafka cluster is not known: the registry searches all of them."""


class AssociationCalls(Protocol):
    """The request of :class:`Associated` to a registry."""

    def associated_subjects(
        self, topic: str, field: Field, *, namespace: str = ANY_CLUSTER, refresh: bool = False
    ) -> Script[tuple[str, ...]]:
        """Return the subjects that are associated with the topic's keys or values."""


@dataclass(frozen=True, slots=True)
class Associated:
    """The subject that the registry associates with the topic, and without one that of ``fallback``.

    ``fallback`` is TOPIC, RECORD, TOPIC_RECORD or a function; None makes it an error that there is no association.
    ``cluster_id`` is the id of the Kafka cluster, or a function that returns it; it is the namespace of the
    association, and None stands for every namespace.
    """

    fallback: SubjectStrategy | None = TOPIC
    cluster_id: str | Callable[[], str] | None = None

    def find(
        self, calls: AssociationCalls, topic: str | None, field: Field, record_name: str | None, *, refresh: bool
    ) -> Script[str]:
        """Return the subject; raise ``SubjectUnresolved`` if there are several, or none and no ``fallback``."""
        found: tuple[str, ...] = ()
        if topic:
            namespace = self._namespace(topic, field)
            found = yield from calls.associated_subjects(topic, field, namespace=namespace, refresh=refresh)
        if len(found) == 1:
            return found[0]
        if found:
            problem = f"The registry associates several subjects with the topic: {', '.join(sorted(found))}"
            raise SubjectUnresolved(problem, topic=topic, field=field)
        if self.fallback is None:
            problem = "The registry associates no subject with the topic, and there is no other strategy"
            raise SubjectUnresolved(problem, topic=topic, field=field)
        return resolve_subject(self.fallback, topic=topic, field=field, record_name=record_name)

    def _namespace(self, topic: str, field: Field) -> str:
        if self.cluster_id is None or isinstance(self.cluster_id, str):
            return self.cluster_id or ANY_CLUSTER
        try:
            found = self.cluster_id()
        except Exception as error:
            problem = f"The id of the Kafka cluster is not known: {type(error).__name__}: {error}"
            raise SubjectUnresolved(problem, topic=topic, field=field) from error
        if not isinstance(found, str) or not found:
            problem = f"The id of the Kafka cluster is {found!r}; expected a text"
            raise SubjectUnresolved(problem, topic=topic, field=field)
        return found


SubjectNaming: TypeAlias = SubjectStrategy | Associated
"""Any strategy: a function of names, or :class:`Associated`, which sends a request to the registry."""

_FUNCTION_BY_NAME: dict[str, SubjectStrategy] = {"TOPIC": TOPIC, "RECORD": RECORD, "TOPIC_RECORD": TOPIC_RECORD}
_ASSOCIATED = "ASSOCIATED"


def strategy_named(name: str) -> SubjectNaming:
    """Return the strategy that Confluent's ``subject.name.strategy.type`` calls ``name``.

    Raises ``InvalidSettings``.
    """
    return Associated() if name == _ASSOCIATED else function_named(name, _ASSOCIATED)


def function_named(name: str, *others: str) -> SubjectStrategy:
    """Return the strategy of this name that sends no request; raise ``InvalidSettings``, which lists ``others`` too."""
    found = _FUNCTION_BY_NAME.get(name)
    if found is None:
        names = ", ".join((*_FUNCTION_BY_NAME, *others))
        raise InvalidSettings(f"Unknown subject name strategy {name!r}; expected one of {names}", setting="subject")
    return found


def find_subject(
    calls: AssociationCalls,
    strategy: SubjectNaming,
    *,
    topic: str | None,
    field: Field,
    record_name: str | None,
    refresh: bool = False,
) -> Script[str]:
    """Return the subject by any strategy; with ``refresh`` an association is requested even if it is cached."""
    if isinstance(strategy, Associated):
        return (yield from strategy.find(calls, topic, field, record_name, refresh=refresh))
    return resolve_subject(strategy, topic=topic, field=field, record_name=record_name)


def resolve_subject(
    strategy: SubjectStrategy | str, *, topic: str | None, field: Field, record_name: str | None
) -> str:
    """Return the subject by a strategy that sends no request, or by its name.

    An exception or a result that is not a name of a user's strategy becomes ``SubjectUnresolved``.
    """
    chosen = function_named(strategy) if isinstance(strategy, str) else strategy
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
