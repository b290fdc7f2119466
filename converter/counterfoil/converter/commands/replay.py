"""``counterfoil bridge replay``: dead letters are converted once more, by the plans as they are now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.converter.bridge import load_bridge_file, resolve_with
from counterfoil.converter.check.preflight import created_again
from counterfoil.converter.engines.reference import Converted, KeyConverter, ReferenceEngine, copied_key, key_converter
from counterfoil.converter.errors import PreflightFailed, RunFailed
from counterfoil.converter.kafka import origins as headers
from counterfoil.converter.kafka.cluster import Cluster, named_cluster
from counterfoil.converter.kafka.origins import RecordOrigin, group_of, original_headers, too_large, written_by
from counterfoil.converter.outputs import give, parse_forms
from counterfoil.converter.run.checkpoint import begun_plan, checkpoint_of
from counterfoil.converter.run.delivery import client_settings
from counterfoil.converter.run.transactions import KafkaTransactions, Outgoing, write_partition
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans.bridge import BridgeFile, Partitioning
from counterfoil.schema.texts import counted
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from counterfoil.sdk.commands.options import RegistryAccess


# ``bridge replay``: dead letters are converted once more, keys and values by the plans as they are now.
#
# The original's key, value, headers, position and timestamp are in its dead letter. A record that can be converted now
# is written to the target, one that fails again to the dead-letter topic, with the new reason; each in a transaction
# that also commits the offset after the dead letter, in the bridge's consumer group. So a replay that was interrupted
# goes on, and another replay begins after the letters that are done. Letters of a partition are left as they are when
# none of them can be converted: nothing grows when nothing has changed.


@dataclass
class ReplayReport:
    """The counts of a replay. ``failed`` are records that failed again, by code; ``foreign`` are not this bridge's."""

    bridge: str
    topic: str
    converted: int = 0
    foreign: int = 0
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def exit_code(self) -> ExitCode:
        """Success if no dead letter is left."""
        return ExitCode.BROKEN if self.failed else ExitCode.OK

    def lines(self) -> list[str]:
        """Return the report as text."""
        tried = self.converted + self.failed.total()
        if not tried:
            return [f"bridge {self.bridge}: {self.topic} has no dead letters to replay"]
        codes = ", ".join(f"{code} {count:,}" for code, count in self.failed.most_common())
        again = f"{self.failed.total():,} failed again ({codes})" if codes else "none failed again"
        letters = counted(tried, "dead letter", spec=",")
        return [f"bridge {self.bridge}: {letters} of {self.topic}: {self.converted:,} converted, {again}"]

    def as_json(self) -> JsonObject:
        """Return the report as JSON."""
        return {
            "bridge": self.bridge,
            "topic": self.topic,
            "converted": self.converted,
            "failed": dict(self.failed),
            "foreign": self.foreign,
        }


@dataclass
class Replay:
    """A replay of the dead letters of a bridge.

    ``convert`` is the plan of values as it is now, ``plan_hash`` its hash, and ``convert_key`` the plan of keys.
    """

    file: BridgeFile
    cluster: Cluster
    convert: Callable[[bytes], Converted]
    plan_hash: str
    convert_key: KeyConverter = copied_key

    def run(self) -> ReplayReport:
        """Replay the letters that are there now; raise ``RunFailed`` if they cannot be written."""
        topic = self.file.dead_letter_topic
        report = ReplayReport(self.file.name, topic)
        done = self.cluster.committed(group_of(self.file.name), topic)
        for partition, (first, end) in sorted(self.cluster.settled_watermarks(topic).items()):
            self._replay(partition, (max(first, done.get(partition, first)), end), report)
        return report

    def _replay(self, partition: int, bounds: tuple[int, int], report: ReplayReport) -> None:
        """Replay the letters of one partition, if one of them can be converted."""
        made = ReplayReport(report.bridge, report.topic)
        if any(each.problem_code is None for each in self._outgoing(partition, bounds, made)):
            made = ReplayReport(report.bridge, report.topic)
            task, client = KafkaTransactions(self.file.name, report.topic), client_settings(self.file, self.cluster)
            written = write_partition(task, client, partition, self._outgoing(partition, bounds, made))
            if written.failure is not None:
                raise RunFailed(
                    f"The replay of bridge {report.bridge} ended: {written.failure}; the next one continues there"
                )
        report.converted += made.converted
        report.failed += made.failed
        report.foreign += made.foreign

    def _outgoing(self, partition: int, bounds: tuple[int, int], report: ReplayReport) -> Iterator[Outgoing]:
        """Yield what each letter becomes, and count it."""
        largest = int(self.cluster.settings(self.file.target_topic)["max.message.bytes"])
        for letter in self.cluster.read(report.topic, {partition: bounds}):
            origin = written_by(letter.headers(), bridge=self.file.name, topic=self.file.source_topic)
            if origin is None:
                report.foreign += 1
                continue
            record = self._again(letter, origin, largest)
            if record.problem_code is None:
                report.converted += 1
            else:
                report.failed[record.problem_code] += 1
            yield record

    def _again(self, letter: Json, origin: RecordOrigin, largest: int) -> Outgoing:
        """Return the converted record of a letter, or its new dead letter."""
        kept, key, value = original_headers(letter.headers()), letter.key(), letter.value()
        answer = self.convert_key(key)
        new_key = answer.value
        if answer.failure is None:  # a tombstone is a dead letter, too, if its key cannot be converted
            answer = Converted() if value is None else self.convert(value)
        failure: tuple[str, str, str] | None = None
        if answer.failure is not None:
            failure = (str(answer.failure.code), answer.failure.field, answer.failure.text)
        elif answer.value is not None and (text := too_large(new_key, answer.value, kept, largest=largest)):
            failure = (headers.TOO_LARGE, "", text)
        is_same = failure is not None or self.file.partitioning is Partitioning.SAME
        return Outgoing(
            source_partition=letter.partition(),
            source_offset=letter.offset(),
            topic=self.file.target_topic if failure is None else self.file.dead_letter_topic,
            partition=origin.partition if is_same else None,
            key=new_key if failure is None else key,
            value=answer.value if failure is None else value,
            headers=[*kept, *self._about(letter, origin), *_reason(failure)],
            timestamp_ms=origin.timestamp_ms if self.file.keeps_timestamps else 0,
            problem_code=None if failure is None else failure[0],
        )

    def _about(self, letter: Json, origin: RecordOrigin) -> list[tuple[str, bytes | None]]:
        place = f"{letter.topic()}/{letter.partition()}/{letter.offset()}"
        texts = {
            headers.SOURCE: str(origin),
            headers.PLAN: self.plan_hash[: headers.PLAN_DIGITS],
            headers.VIA: self.file.name,
            headers.REPLAY: place,
        }
        return [(name, text.encode()) for name, text in texts.items()]


def _reason(failure: tuple[str, str, str] | None) -> list[tuple[str, bytes | None]]:
    """Return the headers with the reason of a failure."""
    if failure is None:
        return []
    names = (headers.ERROR, headers.ERROR_FIELD, headers.ERROR_TEXT)
    return [(name, text.encode(errors="replace")) for name, text in zip(names, failure, strict=True)]


# ``counterfoil bridge replay``: the dead letters are converted once more.


def replay_bridge(
    *, file: Path, registry: RegistryAccess, kafka: KafkaAccess | None, formats: Sequence[str]
) -> ExitCode:
    """Run ``bridge replay``: convert the dead letters once more."""
    forms = parse_forms(formats)
    declared = load_bridge_file(file)
    resolved = resolve_with(declared, registry, lambda: begun_plan(checkpoint_of(file, declared.name, None)))
    reference, keys = ReferenceEngine(resolved.conversion()), resolved.key_conversion()
    cluster = named_cluster(kafka)
    group, letters = group_of(resolved.file.name), resolved.file.dead_letter_topic
    topics = (resolved.file.target_topic, letters)
    findings = [f"there is no topic {each}" for each in topics if cluster.partition_count(each) is None]
    if not findings:
        again = created_again(group, letters, cluster.committed(group, letters), cluster.watermarks(letters))
        findings = [each.text for each in again]
    if findings:
        raise PreflightFailed(findings)
    report = Replay(
        resolved.file,
        cluster,
        reference.convert_value,
        resolved.plan.hash,
        convert_key=copied_key if keys is None else key_converter(ReferenceEngine(keys)),
    ).run()
    give(forms, lines=report.lines, document=report.as_json)
    return report.exit_code
