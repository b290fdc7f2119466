"""The settings of confluent-kafka's Avro serializers, translated for programs that change to this SDK.

A setting that has no counterpart is refused rather than ignored, unless its value is the behaviour of this SDK.

Source: the configuration of ``AvroSerializer`` and ``AvroDeserializer`` of confluent-kafka 2.16.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.subjects import TOPIC, strategy_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.sdk.subjects import Field, SubjectStrategy

_LOCATION_BY_CALLABLE = {"prefix_schema_id_serializer": "prefix", "header_schema_id_serializer": "header"}
_SUBJECT_SETTINGS = ("subject.name.strategy", "subject.name.strategy.type", "subject.name.strategy.conf")


def serializer_settings(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``AvroSerializer``. Raises ``InvalidSettings``, which names the setting."""
    rest = dict(conf)
    settings = {
        "subject": _take_subject(rest),
        "register": _take_register(rest),
        "normalize": _take_bool(rest, "normalize.schemas"),
        "id_location": _take_location(rest),
        "strict": _take_bool(rest, "validate.strict") | _take_bool(rest, "validate.strict.allow.default"),
    }
    _refuse_rest(rest)
    return settings


def deserializer_settings(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``AvroDeserializer``. Raises ``InvalidSettings``, which names the setting."""
    rest = dict(conf)
    rest.pop("schema.id.deserializer", None)  # this SDK reads headers and prefixes, as all of Confluent's strategies do
    settings = {
        "subject": _take_subject(rest),
        "latest": _take_bool(rest, "use.latest.version"),
        "allow_trailing_bytes": not _take_bool(rest, "avro.fail.on.trailing.data"),
    }
    _refuse_rest(rest)
    return settings


def _take_bool(rest: dict[str, Any], name: str, *, default: bool = False) -> bool:
    value = rest.pop(name, default)
    if not isinstance(value, bool):
        raise InvalidSettings(f"{name} is {value!r}; expected True or False", setting=name)
    return value


def _take_register(rest: dict[str, Any]) -> str | dict[str, Any]:
    schema_id = rest.pop("use.schema.id", None)
    metadata = rest.pop("use.latest.with.metadata", None)
    is_latest = _take_bool(rest, "use.latest.version")
    is_auto = _take_bool(rest, "auto.register.schemas", default=True)
    if is_latest and is_auto:
        problem = "use.latest.version and auto.register.schemas exclude each other; set auto.register.schemas to False"
        raise InvalidSettings(problem, setting="use.latest.version")
    if schema_id is not None:
        return {"id": schema_id}
    if metadata is not None:
        return {"metadata": metadata}
    if is_latest:
        return "latest"
    return "auto" if is_auto else "lookup"


def _take_location(rest: dict[str, Any]) -> str:
    chosen = rest.pop("schema.id.serializer", None)
    name = "prefix_schema_id_serializer" if chosen is None else getattr(chosen, "__name__", repr(chosen))
    if name not in _LOCATION_BY_CALLABLE:
        expected = " or ".join(_LOCATION_BY_CALLABLE)
        raise InvalidSettings(f"schema.id.serializer is {name}; expected {expected}", setting="schema.id.serializer")
    return _LOCATION_BY_CALLABLE[name]


def _take_subject(rest: dict[str, Any]) -> SubjectStrategy:
    own, name, conf = (rest.pop(setting, None) for setting in _SUBJECT_SETTINGS)
    if own is not None:
        return _adapted(own)
    if conf:
        setting = "subject.name.strategy.conf"
        raise InvalidSettings(f"{setting} has no counterpart here; leave it out", setting=setting)
    return TOPIC if name is None else strategy_named(getattr(name, "value", name))


def _adapted(theirs: Callable[..., str]) -> SubjectStrategy:
    """Return a strategy of confluent-kafka, ``(ctx, record_name)``, as a strategy of this SDK."""

    def strategy(topic: str | None, field: Field, record_name: str | None) -> str:
        return theirs(SimpleNamespace(topic=topic, field=field, headers=None), record_name)

    return strategy


def _refuse_rest(rest: Mapping[str, Any]) -> None:
    for name, value in rest.items():
        is_off = name.startswith("validation.rules.") and str(getattr(value, "value", value)).upper() in (
            "NONE",
            "FALSE",
            "DISABLED",
        )
        if not is_off and not (name == "use.latest.with.metadata" and value is None):
            raise InvalidSettings(f"{name} is not known, or has no counterpart here", setting=name)
