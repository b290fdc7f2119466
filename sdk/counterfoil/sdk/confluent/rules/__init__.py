"""The names of confluent-kafka's executors, actions and KMS drivers, whose registration is not needed here."""

from __future__ import annotations

from typing import ClassVar, Self

from counterfoil.schema.datum import Datum
from counterfoil.sdk.confluent.rule_registry import RuleRegistry

# Classes that stand for an executor, an action or a KMS driver of this SDK, and do nothing themselves.


class InstalledRulePart:
    """What this SDK finds by itself; ``configure``, ``close`` and the like have no effect."""

    type_name: ClassVar[str] = ""

    def __init__(self, conf: dict[str, Datum] | None = None) -> None:
        self.conf = dict(conf or {})

    def type(self) -> str:
        """Return the type of the rules or the name of the action."""
        return self.type_name

    def configure(self, client_conf: dict[str, Datum], rule_conf: dict[str, Datum]) -> None:
        """Do nothing: the settings of the serializer are used."""
        del client_conf, rule_conf

    def close(self) -> None:
        """Do nothing."""

    @classmethod
    def register(cls, conf: dict[str, Datum] | None = None) -> Self:
        """Return an instance; an action is used with ``conf`` by serializers that are given no registry."""
        made = cls(conf)
        if made.conf:
            RuleRegistry.register_rule_action(made)
        return made


class InstalledDriver(InstalledRulePart):
    """A driver of a key management service, which this SDK finds by the type in a rule."""

    prefix: ClassVar[str] = ""

    def get_key_url_prefix(self) -> str:
        """Return how the URLs of its keys begin."""
        return self.prefix
