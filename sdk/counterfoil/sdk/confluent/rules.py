"""The arguments about rules of confluent-kafka's serializers."""

from __future__ import annotations

from counterfoil.sdk.errors import InvalidSettings


def refuse_rule_arguments(rule_conf: object, rule_registry: object) -> None:
    """Raise ``InvalidSettings`` if rules are configured, since this SDK does not run them."""
    for name, value in (("rule_conf", rule_conf), ("rule_registry", rule_registry)):
        if value:
            raise InvalidSettings(f"{name} has no counterpart here, since this SDK runs no rules", setting=name)
