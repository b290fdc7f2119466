"""What differs between two versions of a contract, and what of it breaks someone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.agreements.judge import judge_promises
from counterfoil.schema.compatibility.policies import CompatibilityLevel
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement import judge
from counterfoil.schema.parsing import find_changes
from counterfoil.schema.paths import print_path
from counterfoil.schema.rest.verdicts import ContractChange, JudgedDifference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.agreements.model import ExpectedRead
    from counterfoil.schema.agreements.sides import ConsumerReading, Offering, Side
    from counterfoil.schema.parsed import ParsedSchema


_UNDECIDED = "schema-undecided"
"""The rule of a comparison that did not end within its limits."""


def compare_sides(before: Side, after: Side) -> tuple[tuple[ContractChange, ...], tuple[JudgedDifference, ...]]:
    """Return what differs between what two versions offer and read, and what of it breaks someone."""
    earlier, later = _by_subject(before), _by_subject(after)
    changes = [*_members("topic", earlier, later)]
    findings: list[JudgedDifference] = []
    for subject in earlier.keys() & later.keys():
        was, now = earlier[subject].offer, later[subject].offer
        try:
            changes += _schema_changes(subject, was.schema, now.schema)
            findings += _incompatibilities(subject, was.schema, now.schema)
        except (JudgementUndecided, InvalidSchema) as reason:  # what is not known is no yes
            text = f"what the change of the schema breaks is not known: {reason.message}"
            findings.append(JudgedDifference(subject, _UNDECIDED, "", text, is_breaking=True))
        findings += (
            JudgedDifference(subject, each.rule, print_path(each.element), each.text, is_breaking=each.is_breaking)
            for each in judge_promises(was, now)
        )
    read_before, read_after = _reads(before), _reads(after)
    for contract in read_before.keys() | read_after.keys():
        changes += _members("read", read_before.get(contract, {}), read_after.get(contract, {}), subject=contract)
    return (
        tuple(sorted(changes, key=lambda each: (each.subject, each.path, each.kind))),
        tuple(sorted(findings, key=lambda each: (each.subject, each.path, each.rule, each.direction))),
    )


def _by_subject(side: Side) -> Mapping[str, Offering]:
    return {each.subject: each for each in side.offerings}


def _reads(side: Side) -> Mapping[str, Mapping[str, str]]:
    """Return what a consumer reads, by contract and path, in words; the whole record has the path ``*``."""
    return {each.contract: _words(each) for each in side.readings}


def _words(reading: ConsumerReading) -> Mapping[str, str]:
    reads = reading.expectation.reads
    if reads is None:
        return {"*": "the whole record"}
    return {print_path(each.path): _expected(each) for each in reads}


def _expected(read: ExpectedRead) -> str:
    """Return what is expected of a path, in words."""
    low, high = read.range.minimum, read.range.maximum
    facts = {
        "as": read.type,
        "min": low,
        "max": high,
        "pattern": read.pattern,
        "enum": None if read.enum is None else ", ".join(map(str, read.enum)),
        "unit": read.unit,
    }
    words = [f"{name} {value}" for name, value in facts.items() if value is not None]
    flags = {"required": read.is_required, "whenPresent": read.when_present}
    return "; ".join([*(name for name, is_set in flags.items() if is_set), *words]) or "read"


def _members(
    noun: str, before: Mapping[str, object], after: Mapping[str, object], *, subject: str = ""
) -> Iterator[ContractChange]:
    """Yield what is there on one side alone, and texts that differ."""
    for name in before.keys() | after.keys():
        place = {"subject": subject or name, "path": name if subject else ""}
        if name not in after:
            yield ContractChange(kind=f"{noun}-removed", text=f"{name} is no longer there", **place)
        elif name not in before:
            yield ContractChange(kind=f"{noun}-added", text=f"{name} is new", **place)
        elif isinstance(before[name], str) and before[name] != after[name]:
            yield ContractChange(kind=f"{noun}-changed", text=f"{name}: {before[name]} → {after[name]}", **place)


def _schema_changes(subject: str, was: ParsedSchema, now: ParsedSchema) -> Iterator[ContractChange]:
    if was.schema_type is not now.schema_type:
        yield ContractChange(subject, "language-changed", "", f"{was.schema_type} → {now.schema_type}")
        return
    for each in find_changes(was, now):
        yield ContractChange(subject, each.kind, each.element, each.text)


def _incompatibilities(subject: str, was: ParsedSchema, now: ParsedSchema) -> Iterator[JudgedDifference]:
    """Yield why readers of one schema cannot read records of the other."""
    if was.schema_type is not now.schema_type:
        text = f"the schema was {was.schema_type}, and is {now.schema_type}"
        yield JudgedDifference(subject, "language-changed", "", text, is_breaking=True)
        return
    for each in judge(now, [Earlier(was)], CompatibilityLevel.FULL).incompatibilities:
        found = each.difference
        yield JudgedDifference(
            subject,
            found.rule,
            print_path(found.element),
            found.text,
            is_breaking=True,
            direction=each.failure.direction.name,
        )
