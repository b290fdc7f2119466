"""The checks before a run: whether the topics, their settings and the rights on them permit a correct run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.converter.errors import CheckpointConflict, PreflightFailed
from counterfoil.converter.kafka.origins import group_of
from counterfoil.converter.run.checkpoint import Checkpoint, CheckpointIdentity
from counterfoil.schema.plans.bridge import BridgeFile, DeliveryGuarantee, Partitioning
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.converter.bridge import ResolvedBridge
    from counterfoil.converter.kafka.cluster import Cluster


# The rights on topics that a bridge needs, and those that the broker does not grant.

_REQUEST_BY_RIGHT: Final = {
    "DESCRIBE": "to describe",
    "DESCRIBE_CONFIGS": "to describe the settings of",
    "READ": "to read from",
    "WRITE": "to write to",
}


def needed_rights(file: BridgeFile) -> dict[str, frozenset[str]]:
    """Return the rights that a run needs, by topic.

    Outputs are read, too: by the restart filter, and to find the end of transactions.
    """
    outputs = {"DESCRIBE", "DESCRIBE_CONFIGS", "WRITE"} | (
        {"READ"} if file.delivery is not DeliveryGuarantee.AT_LEAST_ONCE else set()
    )
    needed = {
        file.source_topic: frozenset({"DESCRIBE", "DESCRIBE_CONFIGS", "READ"}),
        file.target_topic: frozenset(outputs),
        file.dead_letter_topic: frozenset(outputs),
    }
    if file.progress_topic is not None:
        needed[file.progress_topic] = frozenset({"DESCRIBE", "DESCRIBE_CONFIGS", "WRITE"})
    return needed


def missing_rights(file: BridgeFile, cluster: Cluster) -> Iterator[str]:
    """Yield a sentence for each right that the broker does not grant; a topic that does not exist has none."""
    needed = needed_rights(file)
    granted = cluster.rights(needed)
    for topic, wanted in needed.items():
        has = granted[topic]
        for right in sorted(wanted - has) if has is not None else ():
            yield f"the broker refuses {_REQUEST_BY_RIGHT[right]} topic {topic}: the right {right} is missing"


# The checks before a run: whether the topics and their settings permit a correct run.
#
# Findings are reported before anything is written. An error stops the run; a warning is about a setting that may cause
# a problem later.

_MAX_BYTES: Final = "max.message.bytes"
_HEADER_ROOM_BYTES: Final = 1 << 16
_FOREVER: Final = -1


class PreflightSeverity(StrEnum):
    """Whether a finding stops the run."""

    ERROR = "error"
    WARNING = "warning"


class PreflightCheck(StrEnum):
    """What is checked; the value is its name in reports."""

    RIGHTS = "rights"
    TOPICS = "topics"
    PARTITIONS = "partition counts"
    KEYS = "keys"
    SIZES = "sizes"
    CLEANING = "retention and compaction"
    TIMESTAMPS = "timestamps"
    DEAD_LETTERS = "dead-letter topic"
    PROGRESS = "progress topic"
    CHECKPOINT = "checkpoint"
    COMMITTED = "committed offsets"
    IDS = "schema ids"
    STORED = "stored plan"


@dataclass(frozen=True, slots=True)
class PreflightFinding:
    """A problem, or possible problem, with the topics; ``text`` names it and what would be right."""

    severity: PreflightSeverity
    check: PreflightCheck
    text: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}"


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """The facts of a topic from the broker. ``settings`` are Kafka's, as text."""

    name: str
    partitions: int
    settings: Mapping[str, str]

    @property
    def is_compacted(self) -> bool:
        """Whether the broker keeps only the newest record of a key."""
        return "compact" in self.settings.get("cleanup.policy", "")

    @property
    def max_message_bytes(self) -> int:
        """The largest record, as a batch of its own, that the topic accepts."""
        return int(self.settings.get(_MAX_BYTES, 1048588))

    @property
    def retention_ms(self) -> int:
        """How long records are kept; -1 is without a limit, also when neither size nor time delete records."""
        deletes = "delete" in self.settings.get("cleanup.policy", "delete")
        return int(self.settings.get("retention.ms", _FOREVER)) if deletes else _FOREVER


def ready_topics(
    file: BridgeFile,
    cluster: Cluster,
    checkpoint: Checkpoint | None,
    *,
    create_target: bool,
    require: Callable[[], None] = lambda: None,
) -> list[str]:
    """Create missing topics, check all topics, and return sentences about both.

    ``require`` raises if something else is missing that the run needs; it is called after the checks. Raises
    ``PreflightFailed``, before anything is created, when a correct run is not possible.
    """
    findings = inspect(file, cluster, checkpoint, will_create_target=create_target)
    errors = [finding.text for finding in findings if finding.severity is PreflightSeverity.ERROR]
    if errors:
        raise PreflightFailed(errors)
    require()
    created = prepare_topics(file, cluster, create_target=create_target)
    return [*created, *(str(finding) for finding in findings)]


def prepare_topics(file: BridgeFile, cluster: Cluster, *, create_target: bool) -> list[str]:
    """Create the dead-letter topic, and with ``create_target`` the target, if missing; return sentences about them.

    With ``create_target``, the topic of progress is created, too. Call it when ``inspect`` has found no error. Target
    and dead-letter topic get as many partitions as the source. Dead letters are kept without a limit
    (``retention.ms=-1``), and may be as large as the original with the headers about the reason.
    """
    source = facts_of(file.source_topic, cluster)
    if source is None:
        return []
    created = []
    if create_target and cluster.partition_count(file.target_topic) is None:
        made = _as_created(file.target_topic, source)
        cluster.create_topic(made.name, partitions=made.partitions, settings=made.settings)
        created.append(f"created topic {file.target_topic} with {_partitions(source)}, set up as the source")
    if cluster.partition_count(file.dead_letter_topic) is None:
        room = str(source.max_message_bytes + _HEADER_ROOM_BYTES)
        settings = {"cleanup.policy": "delete", "retention.ms": str(_FOREVER), _MAX_BYTES: room}
        cluster.create_topic(file.dead_letter_topic, partitions=source.partitions, settings=settings)
        created.append(f"created topic {file.dead_letter_topic} with {_partitions(source)}, kept for ever")
    if create_target and file.progress_topic and cluster.partition_count(file.progress_topic) is None:
        cluster.create_topic(file.progress_topic, partitions=1, settings={"cleanup.policy": "compact"})
        created.append(f"created topic {file.progress_topic}, compacted, for the progress of bridges")
    return created


def _as_created(target: str, source: TopicFacts) -> TopicFacts:
    """Return the target topic as ``prepare_topics`` creates it."""
    kept = ("cleanup.policy", "retention.ms", "retention.bytes", _MAX_BYTES)
    return TopicFacts(
        target, source.partitions, {name: source.settings[name] for name in kept if name in source.settings}
    )


def facts_of(topic: str, cluster: Cluster) -> TopicFacts | None:
    """Return the facts of ``topic`` from the broker; None when there is no such topic."""
    partitions = cluster.partition_count(topic)
    return None if partitions is None else TopicFacts(topic, partitions, cluster.settings(topic))


def inspect(
    file: BridgeFile, cluster: Cluster, checkpoint: Checkpoint | None, *, will_create_target: bool = False
) -> list[PreflightFinding]:
    """Return all findings about a bridge's topics and, where there is one, its checkpoint; errors first.

    With ``will_create_target`` a missing target is checked as ``prepare_topics`` would create it.
    """
    refused = [_error(PreflightCheck.RIGHTS, text) for text in missing_rights(file, cluster)]
    if refused:
        return refused
    source, target, dead = (
        facts_of(topic, cluster) for topic in (file.source_topic, file.target_topic, file.dead_letter_topic)
    )
    if target is None and source is not None and will_create_target:
        target = _as_created(file.target_topic, source)
    findings = list(_progress(file, cluster, will_create=will_create_target))
    findings += _missing(file, source, target, will_create_target=will_create_target)
    if source is not None:
        if target is not None:
            findings += [*_partition_counts(file, source, target), *_sizes(source, target)]
            findings += _cleaning(source, target, keeps_timestamps=file.keeps_timestamps)
        if dead is not None:
            findings += _dead_letters(file, source, dead)
        position = checkpoint.position(file.source_topic) if checkpoint else None
        if position is not None:
            findings += overtaken(file.source_topic, position, cluster.watermarks(file.source_topic))
        if file.delivery is DeliveryGuarantee.EXACTLY_ONCE:
            group = group_of(file.name)
            committed = cluster.committed(group, file.source_topic)
            findings += created_again(group, file.source_topic, committed, cluster.watermarks(file.source_topic))
    if (warning := file.key_warning()) is not None:
        findings.append(_warning(PreflightCheck.KEYS, warning))
    return sorted(findings, key=lambda finding: finding.severity)


def plan_findings(bridge: ResolvedBridge) -> list[PreflightFinding]:
    """Return what a new bridge of the same file would do otherwise than the plan that is stored or was begun."""
    return [
        _warning(PreflightCheck.STORED, f"the bridge keeps the plan with which it was stored or begun: {change}")
        for change in bridge.changes
    ]


def state_findings(bridge: ResolvedBridge, checkpoint: Checkpoint | None) -> list[PreflightFinding]:
    """Return whether the checkpoint is that of another bridge, with which a run does not begin."""
    try:
        if checkpoint is not None:
            checkpoint.check(CheckpointIdentity.of(bridge), force=False)
    except CheckpointConflict as conflict:
        return [_error(PreflightCheck.CHECKPOINT, str(conflict))]
    return []


def _partitions(topic: TopicFacts) -> str:
    return counted(topic.partitions, "partition")


def _error(check: PreflightCheck, text: str) -> PreflightFinding:
    return PreflightFinding(PreflightSeverity.ERROR, check, text)


def _warning(check: PreflightCheck, text: str) -> PreflightFinding:
    return PreflightFinding(PreflightSeverity.WARNING, check, text)


def _progress(file: BridgeFile, cluster: Cluster, *, will_create: bool) -> Iterator[PreflightFinding]:
    topic = file.progress_topic
    if topic is None:
        return
    facts = facts_of(topic, cluster)
    if facts is None and not will_create:
        yield _error(
            PreflightCheck.PROGRESS,
            f"there is no topic {topic} for progress; create it with kafka-topics.sh --create --topic {topic} "
            "--config cleanup.policy=compact, or let --create-topics do it",
        )
    if facts is not None and not facts.is_compacted:
        yield _warning(
            PreflightCheck.PROGRESS, f"{topic} is not compacted: it keeps every report of progress for its retention"
        )


def _missing(
    file: BridgeFile, source: TopicFacts | None, target: TopicFacts | None, *, will_create_target: bool
) -> Iterator[PreflightFinding]:
    if source is None:
        yield _error(PreflightCheck.TOPICS, f"there is no topic {file.source_topic} to read")
    if target is None and not will_create_target:
        count = source.partitions if source else "N"
        yield _error(
            PreflightCheck.TOPICS,
            f"there is no topic {file.target_topic} to write; create it with kafka-topics.sh --create --topic "
            f"{file.target_topic} --partitions {count}, or let --create-topics do it",
        )


def _partition_counts(file: BridgeFile, source: TopicFacts, target: TopicFacts) -> Iterator[PreflightFinding]:
    if file.partitioning is Partitioning.SAME and source.partitions != target.partitions:
        yield _error(
            PreflightCheck.PARTITIONS,
            f"partition: same needs equally many partitions, and {source.name} has {source.partitions} while "
            f"{target.name} has {target.partitions}; give the target as many, or use partition: by-key",
        )


def _sizes(source: TopicFacts, target: TopicFacts) -> Iterator[PreflightFinding]:
    if target.max_message_bytes < source.max_message_bytes:
        yield _warning(
            PreflightCheck.SIZES,
            f"{target.name} accepts records of {target.max_message_bytes:,} bytes and {source.name} of "
            f"{source.max_message_bytes:,}; what does not fit becomes a dead letter (too-large)",
        )


def _cleaning(source: TopicFacts, target: TopicFacts, *, keeps_timestamps: bool) -> Iterator[PreflightFinding]:
    if target.is_compacted:
        yield _warning(
            PreflightCheck.CLEANING,
            f"{target.name} is compacted: a record without a key ends the run there, and a dead letter leaves the "
            "earlier value of its key as the latest",
        )
    elif source.is_compacted:
        yield _warning(
            PreflightCheck.CLEANING,
            f"{source.name} is compacted and {target.name} is not: tombstones go there and delete nothing",
        )
    if target.retention_ms != _FOREVER and not 0 <= source.retention_ms <= target.retention_ms:
        days = counted(target.retention_ms / 86_400_000, "day", spec="g")
        since = "their own timestamp, old ones soon after they are written" if keeps_timestamps else "they are written"
        yield _warning(
            PreflightCheck.CLEANING,
            f"{target.name} deletes records {days} after {since}, and {source.name} keeps them longer",
        )
    if keeps_timestamps and target.settings.get("message.timestamp.type", "CreateTime") != "CreateTime":
        yield _error(
            PreflightCheck.TIMESTAMPS,
            f"timestamp: keep needs message.timestamp.type=CreateTime, and {target.name} has "
            f"{target.settings['message.timestamp.type']}, with which the broker replaces the timestamps",
        )


def _dead_letters(file: BridgeFile, source: TopicFacts, dead: TopicFacts) -> Iterator[PreflightFinding]:
    if dead.partitions < source.partitions:
        yield _error(
            PreflightCheck.DEAD_LETTERS,
            f"{dead.name} has {_partitions(dead)} and {source.name} {source.partitions}; a dead letter goes "
            "to the partition with the number it came from",
        )
    if dead.is_compacted:
        yield _error(
            PreflightCheck.DEAD_LETTERS,
            f"{dead.name} is compacted, which would delete dead letters; set cleanup.policy=delete",
        )
    if dead.max_message_bytes < source.max_message_bytes:
        yield _error(
            PreflightCheck.DEAD_LETTERS,
            f"{dead.name} accepts records of {dead.max_message_bytes:,} bytes and {file.source_topic} of "
            f"{source.max_message_bytes:,}; a dead letter holds the whole original, so raise {_MAX_BYTES}",
        )


def created_again(
    group: str, topic: str, committed: Mapping[int, int], marks: Mapping[int, tuple[int, int]]
) -> list[PreflightFinding]:
    """Return partitions of which a group has committed an offset beyond the end."""
    return [
        _error(
            PreflightCheck.COMMITTED,
            f"group {group} has committed offset {offset} of {topic} partition {partition}, which ends at "
            f"{marks[partition][1]}: the topic was created again; remove the offsets with kafka-consumer-groups.sh "
            f"--delete-offsets --group {group} --topic {topic}, or give the bridge another name",
        )
        for partition, offset in sorted(committed.items())
        if offset > marks[partition][1]
    ]


def overtaken(topic: str, position: Mapping[int, int], marks: Mapping[int, tuple[int, int]]) -> list[PreflightFinding]:
    """Return offsets that were deleted before the bridge read them, and positions beyond the end, by partition."""
    findings = []
    for partition, offset in sorted(position.items()):
        first, end = marks.get(partition, (0, 0))
        if offset < first:
            findings.append(
                _error(
                    PreflightCheck.CHECKPOINT,
                    f"offsets {offset} to {first - 1} of {topic} partition {partition} were deleted before the bridge "
                    f"read them ({first - offset:,} offsets); a new checkpoint starts after them",
                )
            )
        elif offset > end:
            findings.append(
                _error(
                    PreflightCheck.CHECKPOINT,
                    f"the checkpoint is at offset {offset} of {topic} partition {partition}, which ends at {end}: "
                    "the topic was created again; use a new checkpoint",
                )
            )
    return findings
