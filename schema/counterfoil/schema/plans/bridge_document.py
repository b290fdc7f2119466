"""The document of a bridge, read with the place of every mistake, its grammar for editors, and its plans.

It is YAML::

    document  = bridge source target [ key ] [ partition ] [ timestamp ] [ delivery ]
                [ fields ] [ drop ] [ numbers: same ] [ errors ] [ progress ]
    source    = { topic, [ subject ], [ versions: all ], [ framing ], [ message ] }
    target    = { topic, [ subject ], [ version: number | latest ], [ framing ], [ message ] }
    framing   = id | none
    message   = the full name of a Protobuf message
    key       = copy | convert | { [ source: { [ subject ], [ message ] } ],
                                   [ target: { [ subject ], [ version ], [ message ] } ], [ fields ], [ drop ],
                                   [ numbers: same ] }
    fields    = { target path: rule, ... }                  # schema/plans/rules.py has the rules
    drop      = [ source path, ... ] | rest
    errors    = { [ topic ], [ stop_above: percentage | number | never ] }
    progress  = { topic }

Keys are taken as they are written, so that ``null:`` and ``on:`` are words and not YAML's values for them.
:func:`bridge_json_schema` has the same grammar as a JSON schema.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.documents import (
    InvalidDocument,
    MappingNode,
    Node,
    ScalarNode,
    YamlKind,
    block,
    plain_value,
    refusal,
    text_of,
)
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.errors import CounterfoilError, InvalidBridge
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.plans.bridge import BridgeFile, DeliveryGuarantee, Framing, Partitioning, StopAbove, Timestamps
from counterfoil.schema.plans.derivations import derive_back, stored_plan
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.formulas import SOURCE_PATH_PATTERN, TARGET_PATH_PATTERN
from counterfoil.schema.plans.model import ConversionPlan, Rounding
from counterfoil.schema.plans.moment_words import NANOS_BY_UNIT
from counterfoil.schema.plans.notation import MAX_DECIMALS
from counterfoil.schema.plans.rules import FOLLOWING_BY_ORIGIN, NumberMeaning, PlanRules, parse_rules
from counterfoil.schema.plans.tree import with_message
from counterfoil.schema.rest.bridges import PROBLEM, Problem, ReversePlan
from counterfoil.schema.texts import Position

# The document of a bridge: YAML, read with the place of every mistake.

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
        delivery=_choice(top, "delivery", DeliveryGuarantee.RESTART_FILTER),
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
    return int(plain_value(node)) if node.kind is YamlKind.INTEGER else None


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
    _only(top, "numbers", str(NumberMeaning.SAME.value))
    try:
        return parse_rules(*given, numbers=NumberMeaning.SAME if "numbers" in top.entries else NumberMeaning.ASK)
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


# The grammar of bridge documents as a JSON schema, for editors: completion, and marks at mistakes.
#
# It accepts every valid document. What depends on the schemas of the topics is checked when the plan is derived.

_SOURCE_SCHEMA: Final = {"type": "string", "pattern": f"^{SOURCE_PATH_PATTERN}$"}
_TOPIC_SCHEMA: Final = {"type": "string", "pattern": f"^{TOPIC_PATTERN}$"}
_SUBJECT_SCHEMA: Final = {"type": "string", "minLength": 1}
_MESSAGE_SCHEMA: Final = {"type": "string", "pattern": f"^{MESSAGE_PATTERN}$"}
_SPLIT: Final = {
    "type": "object",
    "properties": {"from": _SOURCE_SCHEMA, "on": {"type": "string", "minLength": 1}, "take": {"type": "integer"}},
    "required": ["from", "on", "take"],
    "additionalProperties": False,
}
_WORDS: Final[dict[str, tuple[str, Json]]] = {
    "from": ("The source field with the value.", _SOURCE_SCHEMA),
    "join": ("Source fields whose texts are joined.", {"type": "array", "items": _SOURCE_SCHEMA, "minItems": 1}),
    "split": ("One piece of a text.", _SPLIT),
    "expr": ("Arithmetic over source fields.", {"type": ["string", "number"]}),
    "const": ("A fixed value.", True),
    "format": ("The date or point in time that is written as text.", _SOURCE_SCHEMA),
    "parse": ("The text that is read as a date or point in time.", _SOURCE_SCHEMA),
    "with": ("The text between joined texts.", {"type": "string"}),
    "as": ("A date pattern such as yyyy-MM-dd HH:mm:ss, or rfc3339.", {"type": "string"}),
    "zone": ("UTC, an offset, or a name such as Europe/Paris.", {"type": "string"}),
    "lookup": ("A table from source values to target values.", {"type": "object", "minProperties": 1}),
    "ignore_case": ("Whether keys of the table and texts are compared in lower case.", {"type": "boolean"}),
    "else": (
        "What a value becomes that fails, or that is not in the table: error, keep (in a table), or a value.",
        True,
    ),
    "cast": ("The type of the target field, by name.", {"type": "string"}),
    "decimals": ("The decimals of a number as text.", {"type": "integer", "minimum": 0, "maximum": MAX_DECIMALS}),
    "times": ("What a number is multiplied by.", {"type": "number", "exclusiveMinimum": 0}),
    "unit": ("What a number counts that is or becomes a time.", {"enum": [*NANOS_BY_UNIT]}),
    "rounding": ("How a number is rounded, or exact.", {"enum": [each.value for each in Rounding]}),
    "null": ("What null becomes: error, or a value.", True),
    "branch": ("The union whose branch's name is the value.", _SOURCE_SCHEMA),
    "to": ("The target's branch that the value becomes: a <name>, error, null or drop; or a table with by.", True),
    "by": ("The source field whose value chooses the branch in the table of to.", _SOURCE_SCHEMA),
}


def bridge_json_schema() -> JsonObject:
    """Return the JSON schema (draft 2020-12) of bridge documents.

    >>> sorted(bridge_json_schema()["required"])
    ['bridge', 'source', 'target']
    """
    source: JsonObject = {
        "topic": _TOPIC_SCHEMA,
        "subject": _SUBJECT_SCHEMA,
        "versions": {"const": "all"},
    }
    source |= {"framing": {"enum": [str(each) for each in Framing]}, "message": _MESSAGE_SCHEMA}
    version = {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "latest"}]}
    limit = {"anyOf": [{"type": "integer", "minimum": 0}, {"const": "never"}, {"pattern": r"^[0-9.]+\s*%$"}]}
    key = {
        "source": _closed({"subject": _SUBJECT_SCHEMA, "message": _MESSAGE_SCHEMA}),
        "target": _closed({"subject": _SUBJECT_SCHEMA, "version": version, "message": _MESSAGE_SCHEMA}),
        **_rule_schemas(),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A bridge between two topics",
        **_closed(
            {
                "bridge": {"type": ["string", "number"], "description": "The name of the bridge."},
                "source": _closed(source, "topic"),
                "target": _closed({**source, "version": version}, "topic", without="versions"),
                "key": {"anyOf": [{"enum": ["copy", "convert"]}, _closed(key)]},
                "partition": {"enum": [str(each) for each in Partitioning]},
                "timestamp": {"enum": [str(each) for each in Timestamps]},
                "delivery": {"enum": [str(each) for each in DeliveryGuarantee]},
                **_rule_schemas(),
                "errors": _closed({"topic": _TOPIC_SCHEMA, "stop_above": limit}),
                "progress": _closed({"topic": _TOPIC_SCHEMA}, "topic"),
            },
            "bridge",
            "source",
            "target",
        ),
    }


def _rule_schemas() -> JsonObject:
    """Return the schemas of ``fields``, ``drop`` and ``numbers``."""
    return {
        "fields": {
            "type": "object",
            "propertyNames": {"pattern": f"^{TARGET_PATH_PATTERN}$"},
            "additionalProperties": {"oneOf": [_rule_schema(word) for word in FOLLOWING_BY_ORIGIN]},
        },
        "drop": {
            "anyOf": [
                {"const": "rest"},
                {"type": "array", "items": {"type": "string", "pattern": f"^{TARGET_PATH_PATTERN}$"}},
            ]
        },
        "numbers": {
            "const": "same",
            "description": "Fields of Protobuf messages that have one number and other names are the same fields.",
        },
    }


def _closed(properties: JsonObject, *required: str, without: str = "") -> JsonObject:
    kept = {name: value for name, value in properties.items() if name != without}
    return {"type": "object", "properties": kept, "required": list(required), "additionalProperties": False}


def _rule_schema(origin: str) -> JsonObject:
    """Return the schema of a rule whose value comes from ``origin``."""
    words = [origin, *sorted(FOLLOWING_BY_ORIGIN[origin])]
    required = [origin, "as"] if "as" in words else [origin]
    return {"title": origin, **_closed({word: _described(word) for word in words}, *required)}


def _described(word: str) -> JsonObject:
    text, schema = _WORDS[word]
    return {"description": text} if schema is True else {"description": text, **schema}


# What a registry needs of a bridge: its file read, and its plan derived there and back, as plain values.


@dataclass(frozen=True, slots=True)
class DerivedPlan:
    """A complete plan: its hash, what it loses and leaves out, and the plan that converts back."""

    hash: str
    lossy: tuple[str, ...]
    dropped: tuple[str, ...]
    reverse: ReversePlan


class StoredHashes(NamedTuple):
    """The hashes of the plans that are stored of a bridge, there and back; empty if there are none."""

    there: str = ""
    back: str = ""


NO_HASHES: Final = StoredHashes()


def plan_head(text: str) -> BridgeFile:
    """Return the bridge file in ``text`` without its rules, of which there may be thousands.

    Raise ``InvalidBridge`` with line and column of a mistake.
    """
    return replace(read_plan(text), rules=PlanRules(), positions={})


def read_plan(text: str, named: str = "The plan") -> BridgeFile:
    """Return the bridge file in ``text``; raise ``InvalidBridge`` with line and column of a mistake."""
    try:
        return read_bridge(text)
    except InvalidDocument as mistake:
        raise InvalidBridge(f"{named} cannot be read: {mistake}") from None


def derived_plan(
    text: str, source: ParsedSchema, target: ParsedSchema, reverse: str = "", stored: StoredHashes = NO_HASHES
) -> DerivedPlan:
    """Return the plan of the bridge file in ``text`` from ``source`` to ``target``, and the one back.

    ``reverse`` is the text of a bridge file for the plan back; without it, that plan is derived without rules, and may
    have problems. ``stored`` are the hashes of the plans that are stored, which keep their meaning where versions
    before derived other ones. Raise ``InvalidBridge`` for a plan that is not complete, with its problems by field in
    the details.
    """
    file = read_plan(text)
    source, target = with_message(source, file.source_message), with_message(target, file.target_message)
    plan = derive_plan(source, target, file.rules)
    earlier = stored_plan(plan, file.rules) if stored.there else None
    if earlier is not None and earlier.hash == stored.there:
        plan = earlier
    _check_complete(plan, f"The plan of bridge {file.name!r}")
    if unusable := file.language_problems(source.schema_type, target.schema_type):
        raise InvalidBridge("; ".join(unusable))
    return DerivedPlan(plan.hash, plan.lossy, plan.dropped, _reverse(file, plan, reverse, stored.back))


def _reverse(file: BridgeFile, plan: ConversionPlan, text: str, stored_hash: str) -> ReversePlan:
    if not text:
        back = derive_back(plan)
        if stored_hash not in {"", back.hash}:
            earlier = derive_plan(plan.target, plan.source, PlanRules(drop_rest=True, numbers=NumberMeaning.ALL))
            back = earlier if earlier.hash == stored_hash else back
        return ReversePlan(back.hash, problems=_problems(back), lossy=back.lossy)
    named = read_plan(text, "The reverse plan")
    if (named.source_subject, named.target_subject) != (file.target_subject, file.source_subject):
        raise InvalidBridge(
            f"The reverse plan converts {named.source_subject} to {named.target_subject}; "
            f"expected {file.target_subject} to {file.source_subject}"
        )
    back = derive_plan(plan.target, plan.source, named.rules)
    _check_complete(back, f"The reverse plan of bridge {file.name!r}")
    return ReversePlan(back.hash, text, lossy=back.lossy)


def _check_complete(plan: ConversionPlan, named: str) -> None:
    problems = _problems(plan)
    if problems:
        raise InvalidBridge(
            f"{named} is not complete: {'; '.join(map(str, problems))}",
            details={"problems": [PROBLEM.write(each) for each in problems]},
        )


def _problems(plan: ConversionPlan) -> tuple[Problem, ...]:
    return tuple(Problem(each.kind.value, each.field, each.text) for each in plan.problems)
