"""What serializers and deserializers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from counterfoil.schema.model import Schema
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.processes import PickledByArguments
from counterfoil.sdk.subjects import Associated, strategy_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.model import SchemaType
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.sources import Source
    from counterfoil.sdk.subjects import SubjectNaming
    from counterfoil.sdk.usage.observation import Usage

F = TypeVar("F")


class Resolver(Protocol):
    """Makes plans; ``subject`` names the subjects."""

    subject: SubjectNaming


class Serde(PickledByArguments):
    """A serializer or a deserializer: its registry, and what makes its plans."""

    def __init__(self, source: Source, resolver: Resolver) -> None:
        self._source = source
        self._naming = resolver

    @property
    def is_async(self) -> bool:
        """Whether the registry is asynchronous, so that requests are sent by ``warm`` alone."""
        return self._source.is_async

    async def arun(self, script: Callable[[], Script[Any]]) -> None:
        """Run the script of a ``SchemaNotCached`` that a rule raised, and wait for the registry.

        The rule's executor keeps what the script returns, so that the call can be repeated.
        """
        await self._source.arun(script())

    def set_cluster_id_resolver(self, resolver: Callable[[], str]) -> None:
        """Use the Kafka cluster's id, which ``resolver`` returns, for associations; confluent-kafka's clients call it.

        It has no effect on a strategy that has an id, or that does not request associations.
        """
        subject = self._naming.subject
        if isinstance(subject, Associated) and not isinstance(subject.cluster_id, str):
            self._naming.subject = Associated(subject.fallback, resolver)

    def build(self, conf: Mapping[str, Any], is_key: bool) -> tuple[Self, dict[str, Any]]:  # noqa: FBT001 - the signature of confluent-kafka's builders
        """Return this object and the settings that remain, as confluent-kafka's builders do."""
        del is_key
        return self, dict(conf)


class Done:
    """Something that can be awaited, and that is done already."""

    def __await__(self) -> Any:
        """Return at once."""
        yield from ()


def chosen(setting: str, value: str, choices: tuple[str, ...]) -> str:
    """Return the value of a setting; raise ``InvalidSettings`` if it is none of its choices."""
    if value not in choices:
        expected = " or ".join(map(repr, choices))
        raise InvalidSettings(f"{setting} is {value!r}; expected {expected}", setting=setting)
    return value


def chosen_function(setting: str, value: F) -> F:
    """Return the function of a setting, which may be None; raise ``InvalidSettings`` for what cannot be called."""
    if value is not None and not callable(value):
        raise InvalidSettings(f"{setting} is a {type(value).__name__}; expected a function", setting=setting)
    return value


def chosen_naming(subject: SubjectNaming | str) -> SubjectNaming:
    """Return the strategy of the setting ``subject``; raise ``InvalidSettings`` if it is none."""
    if isinstance(subject, str):
        return strategy_named(subject)
    return subject if isinstance(subject, Associated) else chosen_function("subject", subject)


def chosen_schema(setting: str, value: object, schema_type: SchemaType) -> Schema | None:
    """Return the schema of a setting; raise ``InvalidSettings`` if it is neither a text nor a ``Schema``."""
    if value is None or isinstance(value, Schema):
        return value
    if isinstance(value, str):
        return Schema(value, schema_type)
    problem = f"{setting} is a {type(value).__name__}; expected the text of a schema, or a Schema"
    where = ", after the registry, which is the first argument" if hasattr(value, "schema_by_id") else ""
    raise InvalidSettings(problem + where, setting=setting)


def observer(usage: Usage) -> Usage:
    """Return the argument of ``observe``; raise ``InvalidSettings`` if it is no ``Usage``."""
    if not hasattr(usage, "observed"):
        raise InvalidSettings(
            f"usage is a {type(usage).__name__}; expected a Usage of counterfoil.sdk", setting="usage"
        )
    return usage
