"""The document of a bridge: YAML, read with the place of every mistake.

::

    document  = bridge source target [ key ] [ partition ] [ timestamp ] [ delivery ]
                [ fields ] [ drop ] [ numbers: same ] [ errors ] [ progress ]
    source    = { topic, [ subject ], [ versions: all ], [ framing ], [ message ] }
    target    = { topic, [ subject ], [ version: number | latest ], [ framing ], [ message ] }
    framing   = id | none
    message   = the full name of a Protobuf message
    key       = copy | convert | { [ source: { [ subject ], [ message ] } ],
                                   [ target: { [ subject ], [ version ], [ message ] } ], [ fields ], [ drop ],
                                   [ numbers: same ] }
    fields    = { target path: rule, ... }                  # schema/evolution/rules.py has the rules
    drop      = [ source path, ... ] | rest
    errors    = { [ topic ], [ stop_above: percentage | number | never ] }
    progress  = { topic }

Keys are taken as they are written, so that ``null:`` and ``on:`` are words and not YAML's values for them.
:mod:`.editors` has the same grammar as a JSON schema.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from counterfoil.schema.bridges.model import BridgeFile, Delivery, Framing, Partitioning, StopAbove, Timestamps
from counterfoil.schema.documents.blocks import block, refusal, text_of
from counterfoil.schema.documents.nodes import InvalidDocument, Kind, MappingNode, ScalarNode, plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.evolution import Numbers, parse_rules

if TYPE_CHECKING:
    from collections.abc import Collection

    from counterfoil.schema.documents.nodes import Node
    from counterfoil.schema.evolution import PlanRules
    from counterfoil.schema.position import Position

_Chosen = TypeVar("_Chosen", bound=StrEnum)
TOPIC_PATTERN = r"[a-zA-Z0-9._-]{1,249}"
_TOPIC = re.compile(TOPIC_PATTERN)
MESSAGE_PATTERN = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
_MESSAGE = re.compile(MESSAGE_PATTERN, re.ASCII)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def read_bridge(text: str) -> BridgeFile:
    """Return the bridge that a YAML ``text`` declares; raise ``InvalidDocument`` with the position of a mistake."""
    return _bridge(read_yaml(text))


def _bridge(root: Node | None) -> BridgeFile:
    if root is None:
        raise InvalidDocument("the file is empty; it needs bridge, source and target")
    top = block(
        root, what="a bridge", required=("bridge", "source", "target"),
        optional=("key", "partition", "timestamp", "delivery", "fields", "drop", "numbers", "errors", "progress"),
    )  # fmt: skip
    source = block(
        top.entries["source"],
        what="source",
        required=("topic",),
        optional=("subject", "versions", "framing", "message"),
    )
    target = block(
        top.entries["target"], what="target", required=("topic",), optional=("subject", "version", "framing", "message")
    )
    source_topic, target_topic = _topic(source), _topic(target)
    dead_letter_topic, stop_above = _errors(top, default_topic=f"{source_topic}.bridge-dlq")
    _only(source, "versions", "all")
    _distinct_topics(source_topic, target_topic, dead_letter_topic, top)
    progress_topic = _progress(top, {source_topic, target_topic, dead_letter_topic})
    bridge = BridgeFile(
        name=_name(top.entries["bridge"], "bridge"),
        source_topic=source_topic,
        source_subject=_subject(source, f"{source_topic}-value"),
        target_topic=target_topic,
        target_subject=_subject(target, f"{target_topic}-value"),
        target_version=_version(target),
        partitioning=_choice(top, "partition", Partitioning.SAME),
        timestamps=_choice(top, "timestamp", Timestamps.KEEP),
        delivery=_choice(top, "delivery", Delivery.RESTART_FILTER),
        dead_letter_topic=dead_letter_topic,
        stop_above=stop_above,
        progress_topic=progress_topic,
        source_framing=_choice(source, "framing", Framing.ID),
        target_framing=_choice(target, "framing", Framing.ID),
        source_message=_message(source),
        target_message=_message(target),
        rules=(rules := _rules(top)),
        positions=_rule_positions(top, rules),
    )
    key = top.entries.get("key")
    return bridge if key is None or text_of(key) == "copy" else replace(bridge, keys=_key_bridge(key, bridge))


def _key_bridge(node: Node, bridge: BridgeFile) -> BridgeFile:
    """Return ``bridge`` with the subjects and rules of keys."""
    if text_of(node) == "convert":
        node = MappingNode(node.position, {}, {})
    if isinstance(node, ScalarNode):
        raise refusal("key must be copy, convert, or a mapping with source, target, fields and drop", node)
    entry = block(node, what="key", optional=("source", "target", "fields", "drop", "numbers"))
    none = MappingNode(node.position, {}, {})
    source = block(entry.entries.get("source", none), what="key's source", optional=("subject", "message"))
    target = block(entry.entries.get("target", none), what="key's target", optional=("subject", "version", "message"))
    return replace(
        bridge,
        source_subject=_subject(source, f"{bridge.source_topic}-key"),
        source_message=_message(source),
        target_subject=_subject(target, f"{bridge.target_topic}-key"),
        target_version=_version(target),
        target_message=_message(target),
        rules=(rules := _rules(entry)),
        positions=_rule_positions(entry, rules),
    )


def _name(node: Node, what: str) -> str:
    name = text_of(node)
    if not name.strip():
        raise refusal(f"{what} must be a name", node)
    if "/" in name or not name.isprintable():
        raise refusal(f"{what} must be a name without slashes and control characters", node)
    return name


def _topic(entry: MappingNode) -> str:
    node = entry.entries["topic"]
    name = _name(node, "topic")
    if not _TOPIC.fullmatch(name) or name in {".", ".."}:
        raise refusal(
            f"{name!r} is no name for a Kafka topic: 1 to 249 letters, digits, dots, underscores and dashes", node
        )
    return name


def _subject(entry: MappingNode, default: str) -> str:
    node = entry.entries.get("subject")
    if node is None:
        return default
    if not text_of(node):
        raise refusal("subject must be a name", node)
    return text_of(node)


def _message(entry: MappingNode) -> str | None:
    node = entry.entries.get("message")
    if node is not None and not _MESSAGE.fullmatch(text_of(node)):
        raise refusal("message must be the full name of a Protobuf message, such as taxi.Ride", node)
    return None if node is None else text_of(node)


def _version(target: MappingNode) -> int | None:
    node = target.entries.get("version")
    if node is None or text_of(node) == "latest":
        return None
    number = _whole_number(node)
    if number is None or number < 1:
        raise refusal("version must be a number from 1, or latest", node)
    return number


def _whole_number(node: Node) -> int | None:
    return int(plain_value(node)) if node.kind is Kind.INTEGER else None


def _only(entry: MappingNode, key: str, single: str) -> None:
    node = entry.entries.get(key)
    if node is not None and text_of(node) != single:
        raise refusal(f"{key} can only be {single}", node)


def _choice(entry: MappingNode, key: str, default: _Chosen) -> _Chosen:
    node = entry.entries.get(key)
    if node is None:
        return default
    choices = [str(each) for each in type(default)]
    if text_of(node) not in choices:
        raise refusal(f"{key} must be {' or '.join(choices)}", node)
    return type(default)(text_of(node))


def _errors(top: MappingNode, *, default_topic: str) -> tuple[str, StopAbove]:
    node = top.entries.get("errors")
    if node is None:
        return default_topic, StopAbove(rate=0.01)
    entry = block(node, what="errors", optional=("topic", "stop_above"))
    topic = _topic(entry) if "topic" in entry.entries else default_topic
    limit = entry.entries.get("stop_above")
    return topic, StopAbove(rate=0.01) if limit is None else _stop_above(limit)


def _stop_above(node: Node) -> StopAbove:
    if text_of(node) == "never":
        return StopAbove()
    if (percent := _PERCENT.fullmatch(text_of(node))) and float(percent[1]) <= 100:  # noqa: PLR2004 - of a hundred
        return StopAbove(rate=float(percent[1]) / 100)
    count = _whole_number(node)
    if count is None or count < 0:
        raise refusal("stop_above must be a percentage such as 1%, a number of dead letters, or never", node)
    return StopAbove(count=count)


def _distinct_topics(source: str, target: str, dead_letters: str, top: MappingNode) -> None:
    if source == target:
        raise refusal("source and target must be two topics", top.entries["target"])
    if dead_letters in {source, target}:
        raise refusal("dead letters need a topic of their own", top.entries.get("errors", top.entries["source"]))


def _progress(top: MappingNode, others: Collection[str]) -> str | None:
    node = top.entries.get("progress")
    if node is None:
        return None
    topic = _topic(block(node, what="progress", required=("topic",)))
    if topic in others:
        raise refusal("progress needs a topic of its own", node)
    return topic


def _rules(top: MappingNode) -> PlanRules:
    fields, drop = top.entries.get("fields"), top.entries.get("drop")
    if fields is not None and not isinstance(fields, MappingNode):
        raise refusal("fields must be a mapping of target fields to rules", fields)
    given = {} if fields is None else plain_value(fields), None if drop is None else plain_value(drop)
    _only(top, "numbers", str(Numbers.SAME.value))
    try:
        return parse_rules(*given, numbers=Numbers.SAME if "numbers" in top.entries else Numbers.ASK)
    except CounterfoilError as mistake:  # reported with the place of the rule whose field it names
        name = str(getattr(mistake, "field", "") or "")
        if fields is not None and name in fields.key_positions:
            rule, word = fields.entries[name], str(getattr(mistake, "word", ""))
            inside = rule.key_positions if isinstance(rule, MappingNode) else {}
            raise InvalidDocument(str(mistake), inside.get(word, fields.key_positions[name])) from None
        raise refusal(str(mistake), drop if name == "drop" and drop is not None else fields or drop or top) from None


def _rule_positions(top: MappingNode, rules: PlanRules) -> dict[str, Position]:
    """Return the positions of the rules by target field, and that of ``drop``."""
    fields, drop = top.entries.get("fields"), top.entries.get("drop")
    given = fields.key_positions.values() if isinstance(fields, MappingNode) else ()
    found = {rule.spelt: position for rule, position in zip(rules.fields, given, strict=True)}
    return found if drop is None else {**found, "drop": drop.position}
