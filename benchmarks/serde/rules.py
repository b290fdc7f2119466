"""One CEL condition on writing beside confluent-kafka's, one message at a time, behind the same call.

    python benchmarks/serde/rules.py [--rounds 30] [--assert]

Both use a registry in this process, so that no network is measured, and everything is warm. The record is an order of
22 fields with logical types, of which the condition reads two. How time is measured is in ``measure.py``.
"""

from __future__ import annotations

import json
from typing import Any, Final

from avro import CASES, CONTEXT, MESSAGES
from confluent_kafka.schema_registry import RegisteredSchema as TheirRegistered
from confluent_kafka.schema_registry import Rule as TheirRule
from confluent_kafka.schema_registry import RuleKind, RuleMode, topic_subject_name_strategy
from confluent_kafka.schema_registry import RuleSet as TheirRuleSet
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.rules.cel.cel_executor import CelExecutor
from measure import Candidate, Report, over

from counterfoil.schema.model import Rule, RuleSet, Schema
from counterfoil.schema.rest.versions import RegisteredSchema
from counterfoil.sdk import AvroSerializer
from counterfoil.sdk.serde.rules.cel import executors as engines

GOAL_RUST: Final = 20.0
GOAL_PYTHON: Final = 2.5
EXPRESSION: Final = "message.customer_id > 0 && message.pickup.zone > 0"


class OurRegistry:
    """A registry with one schema, whose id is 1."""

    def __init__(self, text: str, expr: str) -> None:
        rule = Rule("known", type="CEL", kind="CONDITION", mode="WRITE", expr=expr)
        self.schema = Schema(text, rule_set=RuleSet(domain_rules=(rule,)))

    def version(self, subject: str, number: Any = "latest") -> RegisteredSchema:
        """Return version 1."""
        _ = number
        return RegisteredSchema(subject, 1, 1, None, self.schema)


class TheirRegistry:
    """The same registry for confluent-kafka, with the methods that its serializers call."""

    def __init__(self, text: str, expr: str) -> None:
        mode, kind = RuleMode.WRITE, RuleKind.CONDITION
        rule = TheirRule("known", None, kind, mode, "CEL", None, None, expr, None, None, False)  # noqa: FBT003 - theirs
        self.schema = TheirSchema(text, "AVRO", rule_set=TheirRuleSet([], [rule]))

    def config(self) -> dict[str, Any]:
        """Return no settings."""
        return {}

    def get_latest_version(self, subject: str, fmt: Any = None) -> Any:
        """Return version 1."""
        _ = fmt
        return TheirRegistered(schema_id=1, guid=None, schema=self.schema, subject=subject, version=1)


def our_serializer(text: str, expr: str, *, in_rust: bool) -> AvroSerializer:
    """Return a serializer of ours with one of the engines, which is chosen when the rule is compiled."""
    serializer = AvroSerializer(OurRegistry(text, expr), register="latest")
    rust = engines.rust
    try:
        engines.rust = rust if in_rust else None
        serializer.warm(topic=CONTEXT.topic)
    finally:
        engines.rust = rust
    return serializer


def main() -> int:
    """Measure and print."""
    report = Report.from_arguments(__doc__ or "")
    case = CASES[-1]
    text = json.dumps(case.document)
    registry = RuleRegistry()
    registry.register_executor(CelExecutor())
    theirs = TheirSerializer(
        TheirRegistry(text, EXPRESSION),
        conf={
            "auto.register.schemas": False,
            "use.latest.version": True,
            "subject.name.strategy": topic_subject_name_strategy,
        },
        rule_registry=registry,
    )
    fast, plain = (our_serializer(text, EXPRESSION, in_rust=in_rust) for in_rust in (True, False))
    for value in case.values[:2]:
        assert fast(value, CONTEXT) == plain(value, CONTEXT) == theirs(value, CONTEXT)
    report.compare(
        "one CEL condition on write",
        Candidate("confluent-kafka", over(theirs, case.values, CONTEXT)),
        (Candidate("ours, CEL in Rust", over(fast, case.values, CONTEXT)), GOAL_RUST),
        (Candidate("ours, CEL in Python", over(plain, case.values, CONTEXT)), GOAL_PYTHON),
        messages=MESSAGES,
    )
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
