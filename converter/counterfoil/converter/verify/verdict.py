"""The results of a verification, by source partition, as values, text and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports.forms import Case, CaseOutcome, Suite
from counterfoil.schema.texts import counted

EXAMPLES: Final = 5
"""How many offsets a report has for each kind of fault."""

_CASES: Final = {
    "missing": "no record is missing",
    "repeated": "no record is repeated",
    "out_of_order": "records are in order",
    "misplaced": "records are on their partition",
    "unmatched": "every output record is from the source",
    "unwarranted": "echoes are left out, tombstones are tombstones",
    "changed": "keys, headers and dead letters are unchanged",
    "differing": "values are those of the reference evaluator",
}
"""The kinds of fault, each with what is right, as the name of a test case."""


@dataclass(slots=True)
class PartitionVerdict:
    """One partition of the source, and what was found of its records.

    ``first`` and ``end`` bound the offsets that were verified, the end exclusive. ``records`` were on the source:
    ``converted``, ``tombstones`` and ``dead_letters`` of them were found on the outputs, ``echoes`` were correctly left
    out. Everything else counts faults: ``missing`` (on neither output), ``repeated`` (more than once), ``out_of_order``
    (after a later one, on one output partition), ``misplaced`` (on another partition than the bridge file requires),
    ``unmatched`` (an output names an offset that is not in the source), ``unwarranted`` (an echo that was written, or a
    tombstone that is none on the target, or the reverse), ``changed`` (runs of offsets in which a key, a header or a
    dead letter's value is not the original's) and ``differing`` (values that differ from the reference evaluator's, of
    ``recomputed`` ones). ``examples`` has the first offsets of each.
    """

    partition: int
    first: int
    end: int
    records: int = 0
    converted: int = 0
    tombstones: int = 0
    dead_letters: int = 0
    echoes: int = 0
    recomputed: int = 0
    missing: int = 0
    repeated: int = 0
    out_of_order: int = 0
    misplaced: int = 0
    unmatched: int = 0
    unwarranted: int = 0
    changed: int = 0
    differing: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def faults(self) -> dict[str, int]:
        """The kinds of fault that occurred, with their counts."""
        return {kind: count for kind in _CASES if (count := getattr(self, kind))}

    def fault(self, kind: str, example: str) -> None:
        """Count one fault of ``kind``, and keep ``example`` if it is among the first."""
        setattr(self, kind, getattr(self, kind) + 1)
        named = self.examples.setdefault(kind, [])
        if len(named) < EXAMPLES:
            named.append(example)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The results of all partitions.

    ``native`` counts records of the target, and ``foreign`` of the dead-letter topic, that this bridge did not
    write.
    """

    bridge: str
    source_topic: str
    target_topic: str
    dead_letter_topic: str
    partitions: list[PartitionVerdict]
    native: int
    foreign: int
    dead_by_code: dict[str, int]

    @property
    def records(self) -> int:
        """How many records of the source were verified."""
        return sum(each.records for each in self.partitions)

    @property
    def is_good(self) -> bool:
        """Whether every record is on exactly one output, once, in order and with the right content."""
        return not any(each.faults for each in self.partitions)

    @property
    def exit_code(self) -> ExitCode:
        """OK, BROKEN, or CANNOT_SAY when the source has no records."""
        if not self.is_good:
            return ExitCode.BROKEN
        return ExitCode.OK if self.records else ExitCode.CANNOT_SAY

    def totals(self) -> dict[str, int]:
        """Return the counts of all partitions together; ``source`` is the number of verified source records."""
        names = [name for name, value in asdict(PartitionVerdict(0, 0, 0)).items() if isinstance(value, int)]
        sums = {name: self._count(name) for name in names if name not in {"partition", "first", "end", "records"}}
        return {"source": self.records, **sums}

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            **asdict(self),
            "partitions": [{**asdict(each), "faults": each.faults} for each in self.partitions],
            "totals": self.totals(),
            "good": self.is_good,
        }

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        shown = [f"{self.source_topic} -> {self.target_topic} (dead letters: {self.dead_letter_topic})"]
        shown += [line for each in self.partitions for line in _partition_lines(each)]
        if self.native:
            shown.append(_not_ours(self.native, self.target_topic))
        if self.foreign:
            shown.append(_not_ours(self.foreign, self.dead_letter_topic))
        if self.dead_by_code:
            by_code = ", ".join(f"{code} {count:,}" for code, count in sorted(self.dead_by_code.items()))
            shown.append(f"dead letters by reason: {by_code}")
        return [*shown, self._conclusion()]

    def suite(self) -> Suite:
        """Return one test case for each kind of fault."""
        group = verify_group(self.bridge)
        if not self.records:
            why = f"{self.source_topic} holds no records"
            return Suite(group, (Case("records", group, CaseOutcome.NOT_RUN, "no-records", why),))
        cases = [Case("records", group, output="\n".join(self.lines()))]
        for kind, name in _CASES.items():
            count = self._count(kind)
            places = [
                f"partition {each.partition}: {', '.join(each.examples.get(kind, []))}"
                for each in self.partitions
                if getattr(each, kind)
            ]
            message = f"{_spoken(kind)} {count:,}"
            cases.append(
                Case(name, group, CaseOutcome.BROKEN, kind, message, "\n".join(places)) if count else Case(name, group)
            )
        return Suite(group, tuple(cases))

    def _conclusion(self) -> str:
        if not self.is_good:
            counts = [f"{_spoken(kind)} {self._count(kind):,}" for kind in _kinds(self.partitions)]
            return f"NOT GOOD: {', '.join(counts)}"
        if not self.records:
            return f"cannot say: {self.source_topic} holds no records"
        recomputed = sum(each.recomputed for each in self.partitions)
        records = counted(self.records, "record", spec=",")
        return f"good: {records}, each exactly once and in order; {recomputed:,} computed again and equal"

    def _count(self, kind: str) -> int:
        return sum(getattr(each, kind) for each in self.partitions)


def _not_ours(count: int, topic: str) -> str:
    records = counted(count, f"record of {topic} is", f"records of {topic} are", spec=",")
    return f"{records} not from this bridge"


def _spoken(kind: str) -> str:
    return kind.replace("_", " ")


def _kinds(partitions: list[PartitionVerdict]) -> list[str]:
    return list(dict.fromkeys(kind for each in partitions for kind in each.faults))


def _partition_lines(each: PartitionVerdict) -> list[str]:
    parts = [f"{each.converted:,} converted", counted(each.dead_letters, "dead letter", spec=",")]
    parts += [counted(each.tombstones, "tombstone", spec=",")] if each.tombstones else []
    parts += [counted(each.echoes, "echo", "echoes", spec=",")] if each.echoes else []
    line = f"  partition {each.partition}: {counted(each.records, 'record', spec=',')} = {' + '.join(parts)}"
    faults = [
        f"    {_spoken(kind)} {count:,}: {', '.join(each.examples.get(kind, []))}"
        for kind, count in each.faults.items()
    ]
    return [line if not faults else f"{line}; faults:", *faults]


def verify_group(bridge: str) -> str:
    """Return the name under which build servers list the verification of a bridge."""
    return f"bridge verify {bridge}"
