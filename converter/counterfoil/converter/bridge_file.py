"""A bridge file: which topic goes to which, by which rules; read with the place of every mistake.

Keys are taken as they are written, so that ``null:`` and ``on:`` are words and not YAML's values for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from counterfoil.converter.errors import InvalidBridgeFile
from counterfoil.schema.errors import CounterfoilError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from counterfoil.schema.evolution import PlanRules

_Chosen = TypeVar("_Chosen", bound=StrEnum)
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_MAX_DEPTH = 32
_INT, _FLOAT, _BOOL, _NULL = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))


class Partitioning(StrEnum):
    """Where on the target a record goes."""

    SAME = "same"
    """To the partition with the number it came from; both topics have equally many."""
    BY_KEY = "by-key"
    """To the partition that Kafka's own partitioner gives its key."""


class Timestamps(StrEnum):
    """What becomes of a record's timestamp."""

    KEEP = "keep"
    """It travels in the header ``bridge.ts``; Spark's Kafka sink cannot set a record's own."""
    NOW = "now"
    """It stays behind (``bridge.src`` still has it)."""


@dataclass(frozen=True, slots=True)
class StopAbove:
    """When a run gives up because of dead letters: above a ``rate`` (0 to 1), above a ``count``, or never."""

    rate: float | None = None
    count: int | None = None

    def is_exceeded(self, *, dead_letters: int, records: int) -> bool:
        """Whether ``dead_letters`` of ``records`` are too many."""
        if self.count is not None:
            return dead_letters > self.count
        return self.rate is not None and dead_letters > self.rate * records

    def __str__(self) -> str:
        if self.count is not None:
            return str(self.count)
        return "never" if self.rate is None else f"{self.rate * 100:g}%"


@dataclass(frozen=True, slots=True)
class BridgeFile:
    """What a bridge file says, with its defaults filled in.

    ``target_version`` is None for the newest; ``rules`` is what ``fields`` and ``drop`` say.
    """

    name: str
    source_topic: str
    source_subject: str
    target_topic: str
    target_subject: str
    dead_letter_topic: str
    rules: PlanRules = field(repr=False)
    target_version: int | None = None
    partitioning: Partitioning = Partitioning.SAME
    timestamps: Timestamps = Timestamps.KEEP
    stop_above: StopAbove = StopAbove(rate=0.01)


def load_bridge_file(path: Path | str) -> BridgeFile:
    """The bridge that the file at ``path`` declares; ``InvalidBridgeFile`` tells line and column of a mistake."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidBridgeFile("there is no such file", path=str(path)) from None
    except (OSError, UnicodeDecodeError) as refusal:
        raise InvalidBridgeFile(f"the file cannot be read: {refusal}", path=str(path)) from None
    return parse_bridge_file(text, name=str(path))


def parse_bridge_file(text: str, *, name: str = "<bridge>") -> BridgeFile:
    """The bridge that a YAML ``text`` declares; ``name`` stands in messages for the file."""
    return _Reader(name).read(text)


@dataclass(frozen=True, slots=True)
class _Block:
    """A YAML mapping with its keys as written."""

    node: yaml.Node
    value_by_key: Mapping[str, yaml.Node]
    key_node_by_key: Mapping[str, yaml.Node]


class _Reader:
    """Reads one text; ``name`` is the file's name in messages."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self, text: str) -> BridgeFile:
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as mistake:
            mark = mistake.problem_mark or mistake.context_mark
            place = {"line": mark.line + 1, "column": mark.column + 1} if mark else {}
            raise InvalidBridgeFile(f"not YAML: {mistake.problem}", path=self._name, **place) from None
        except (yaml.YAMLError, RecursionError) as mistake:
            raise InvalidBridgeFile(f"not YAML: {mistake}", path=self._name) from None
        if root is None:
            raise InvalidBridgeFile("the file is empty; it needs bridge, source and target", path=self._name)
        return self._bridge(root)

    def _bridge(self, root: yaml.Node) -> BridgeFile:
        top = self._block(
            root, what="a bridge", required=("bridge", "source", "target"),
            optional=("key", "partition", "timestamp", "fields", "drop", "errors"),
        )  # fmt: skip
        source = self._block(
            top.value_by_key["source"], what="source", required=("topic",), optional=("subject", "versions")
        )
        target = self._block(
            top.value_by_key["target"], what="target", required=("topic",), optional=("subject", "version")
        )
        source_topic, target_topic = self._topic(source, "topic"), self._topic(target, "topic")
        dead_letter_topic, stop_above = self._errors(top, default_topic=f"{source_topic}.bridge-dlq")
        self._only(source, "versions", "all")
        self._only(top, "key", "copy")
        self._distinct_topics(source_topic, target_topic, dead_letter_topic, top)
        return BridgeFile(
            name=self._text(top.value_by_key["bridge"], "bridge"),
            source_topic=source_topic,
            source_subject=self._subject(source, source_topic),
            target_topic=target_topic,
            target_subject=self._subject(target, target_topic),
            target_version=self._version(target),
            partitioning=self._choice(top, "partition", Partitioning.SAME),
            timestamps=self._choice(top, "timestamp", Timestamps.KEEP),
            dead_letter_topic=dead_letter_topic,
            stop_above=stop_above,
            rules=self._rules(top),
        )

    def _block(
        self, node: yaml.Node, *, what: str, required: Iterable[str] = (), optional: Iterable[str] | None = None
    ) -> _Block:
        """The mapping that ``node`` is; with ``optional``, no other keys are taken."""
        if not isinstance(node, yaml.MappingNode):
            raise self._error(f"{what} must be a mapping of names to values", node)
        values: dict[str, yaml.Node] = {}
        keys: dict[str, yaml.Node] = {}
        known = None if optional is None else [*required, *optional]
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error("a key must be a plain word", key_node)
            key = key_node.value
            if key in values:
                raise self._error(f"{key} stands here a second time", key_node)
            if known is not None and key not in known:
                raise self._error(_unknown(key, known, what=what), key_node)
            values[key], keys[key] = value_node, key_node
        for key in required:
            if key not in values:
                raise self._error(f"{what} needs {key}", node)
        return _Block(node, values, keys)

    def _text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise self._error(f"{what} must be a name", node)
        if "/" in node.value or not node.value.isprintable():
            raise self._error(f"{what} must be a name without slashes and control characters", node)
        return str(node.value)

    def _topic(self, block: _Block, key: str) -> str:
        node = block.value_by_key[key]
        name = self._text(node, key)
        if not _TOPIC.fullmatch(name) or name in {".", ".."}:
            raise self._error(
                f"{name!r} is no name for a Kafka topic: 1 to 249 letters, digits, dots, underscores and dashes", node
            )
        return name

    def _subject(self, block: _Block, topic: str) -> str:
        node = block.value_by_key.get("subject")
        if node is None:
            return f"{topic}-value"
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            raise self._error("subject must be a name", node)
        return str(node.value)

    def _version(self, target: _Block) -> int | None:
        node = target.value_by_key.get("version")
        if node is None or node.value == "latest":
            return None
        if node.tag == _INT and (number := self._plain(node)) >= 1:
            return int(number)
        raise self._error("version must be a number from 1, or latest", node)

    def _only(self, block: _Block, key: str, single: str) -> None:
        node = block.value_by_key.get(key)
        if node is not None and node.value != single:
            raise self._error(f"{key} can only be {single}", node)

    def _choice(self, block: _Block, key: str, default: _Chosen) -> _Chosen:
        node = block.value_by_key.get(key)
        if node is None:
            return default
        choices = [str(choice) for choice in type(default)]
        if node.value not in choices:
            raise self._error(f"{key} must be {' or '.join(choices)}", node)
        return type(default)(node.value)

    def _errors(self, top: _Block, *, default_topic: str) -> tuple[str, StopAbove]:
        node = top.value_by_key.get("errors")
        if node is None:
            return default_topic, StopAbove(rate=0.01)
        block = self._block(node, what="errors", optional=("topic", "stop_above"))
        topic = self._topic(block, "topic") if "topic" in block.value_by_key else default_topic
        limit = block.value_by_key.get("stop_above")
        return topic, StopAbove(rate=0.01) if limit is None else self._stop_above(limit)

    def _stop_above(self, node: yaml.Node) -> StopAbove:
        if isinstance(node, yaml.ScalarNode):
            if node.value == "never":
                return StopAbove()
            if (percent := _PERCENT.fullmatch(node.value)) and float(percent[1]) <= 100:  # noqa: PLR2004 - of a hundred
                return StopAbove(rate=float(percent[1]) / 100)
            if node.tag == _INT and (count := self._plain(node)) >= 0:
                return StopAbove(count=int(count))
        raise self._error("stop_above must be a percentage such as 1%, a number of dead letters, or never", node)

    def _distinct_topics(self, source: str, target: str, dead_letters: str, top: _Block) -> None:
        if source == target:
            raise self._error("source and target must be two topics", top.value_by_key["target"])
        if dead_letters in {source, target}:
            raise self._error(
                "dead letters need a topic of their own", top.value_by_key.get("errors", top.value_by_key["source"])
            )

    def _rules(self, top: _Block) -> PlanRules:
        from counterfoil.schema.evolution import parse_rules

        fields_node = top.value_by_key.get("fields")
        drop_node = top.value_by_key.get("drop")
        fields = {} if fields_node is None else self._plain(fields_node)
        if not isinstance(fields, dict):
            raise self._error("fields must be a mapping of target fields to rules", fields_node or top.node)
        return self._located(lambda: parse_rules(fields, None if drop_node is None else self._plain(drop_node)), top)

    def _located(self, parse: Callable[[], PlanRules], top: _Block) -> PlanRules:
        """What ``parse`` gives; its error is told with the place of the rule whose name it mentions."""
        try:
            return parse()
        except CounterfoilError as mistake:
            node = top.value_by_key.get("fields") or top.value_by_key.get("drop") or top.node
            wanted = str(getattr(mistake, "field", "") or "")
            if isinstance(node, yaml.MappingNode):
                node = next((key for key, _ in node.value if wanted and key.value == wanted), node)
            raise self._error(str(mistake), node) from None

    def _plain(self, node: yaml.Node, depth: int = 0) -> Any:
        """The value of a node: keys as written, dates as text."""
        if depth > _MAX_DEPTH:
            raise self._error("nested too deeply", node)
        if isinstance(node, yaml.MappingNode):
            return {
                key: self._plain(value, depth + 1) for key, value in self._block(node, what="this").value_by_key.items()
            }
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, depth + 1) for item in node.value]
        return self._scalar(node)

    def _scalar(self, node: yaml.Node) -> Any:
        if node.tag not in {_INT, _FLOAT, _BOOL, _NULL}:
            return node.value
        try:
            return yaml.SafeLoader("").construct_object(node)
        except (ValueError, yaml.YAMLError):
            raise self._error(f"{node.value!r} is no value", node) from None

    def _error(self, problem: str, node: yaml.Node) -> InvalidBridgeFile:
        mark = node.start_mark
        return InvalidBridgeFile(problem, path=self._name, line=mark.line + 1, column=mark.column + 1)


def _unknown(key: str, known: list[str], *, what: str) -> str:
    near = get_close_matches(key, known, n=1)
    meant = f"did you mean {near[0]}?" if near else f"it takes {', '.join(sorted(known))}"
    return f"{what} has no key {key}; {meant}"
