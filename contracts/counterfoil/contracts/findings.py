"""The findings of a check: their place, evidence and fingerprints, and the report with all of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.documents import Repair
from counterfoil.schema.paths import print_path
from counterfoil.schema.reports import ReportedApproval, Severity
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.agreements.findings import ReadFinding
    from counterfoil.schema.compatibility.findings import Identity


# The results of a check: findings with their place, evidence and advice, and the report with all of them.
#
# Every value is frozen and does no I/O, so that a server can use the same types as the command line.

FINGERPRINT_LENGTH = 12


class FailOn(StrEnum):
    """The least severity that breaks the contract."""

    ERROR = "error"
    WARNING = "warning"
    NEVER = "never"


class CheckGate(StrEnum):
    """The way in which it is decided whether a change is allowed, where consumers are known.

    ``STRICT``: both the compatibility level and the consumers. ``CONSUMERS``: the consumers alone. ``OBSERVE``: nothing
    fails, everything is reported.
    """

    STRICT = "strict"
    CONSUMERS = "consumers"
    OBSERVE = "observe"


class Status(StrEnum):
    """The result of the check of one schema file."""

    COMPARED = "compared"
    UNCHANGED = "unchanged"
    NEW = "new"
    REMOVED = "removed"
    INVALID = "invalid"
    SKIPPED = "skipped"


_NOT_JUDGED = frozenset({Status.SKIPPED, Status.NEW})


@dataclass(frozen=True, slots=True)
class Evidence:
    """A record that proves a finding.

    ``datum_json`` is the record as JSON; ``writer`` and ``reader`` name the schemas that write and read it, such as
    ``main@8c1f2e0`` and ``schemas/order.avsc``; ``step`` is where reading fails; ``confirmed_by`` names the decoder
    that failed to read it.
    """

    datum_json: str
    writer: str
    reader: str
    step: str
    confirmed_by: str


@dataclass(frozen=True, slots=True)
class Dependant:
    """A schema that refers to the one of a finding and breaks for the same reason.

    ``position`` and ``element`` are the place of the reference; ``against`` are the affected earlier versions of this
    schema.
    """

    subject: str
    path: str
    position: Position | None = None
    element: str = ""
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicRecords:
    """How many of a topic's records trigger a finding, as the sketch of the topic shows.

    ``triggering`` of ``total`` records do, at most if not ``is_exact``; None: the sketch cannot say. ``unread`` further
    records could not be read; ``is_sample``: not all records of the topic were looked at.
    ``is_about_later``: the finding is about records that the checked schema will write.
    """

    triggering: int | None
    total: int
    is_exact: bool = False
    unread: int = 0
    is_sample: bool = False
    is_about_later: bool = False

    @property
    def is_harmless(self) -> bool:
        """Whether no record of the topic triggers the finding: all records were looked at and read."""
        return self.triggering == 0 and not self.unread and not self.is_sample

    @property
    def text(self) -> str:
        """The sentence for people."""
        if self.is_about_later:
            return "the sketch cannot say how many records trigger this finding: it is about records to come"
        records = f"{self.total:,} {'sampled ' if self.is_sample else ''}record{'' if self.total == 1 else 's'}"
        more = f"; {self.unread:,} more could not be read" if self.unread else ""
        if self.triggering is None:
            return f"the sketch cannot say how many of {records} trigger this finding{more}"
        verb = "triggers" if 1 in (self.triggering, self.total) else "trigger"
        limit = "" if self.is_exact or not self.triggering else "at most "
        return f"{limit}{self.triggering:,} of {records} {verb} this finding{more}"


@dataclass(frozen=True, slots=True)
class FindingReaders:
    """The consumers of a contract as a finding concerns them, by name and version.

    ``reading`` read the part of the schema that the finding is about, ``others`` do not; ``broken`` are those of
    ``reading`` that fail.
    """

    broken: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The sentence for people."""
        named = [f"{each} (breaks)" if each in self.broken else each for each in self.reading]
        if not named:
            others = f"not read by {', '.join(self.others)}, and " if self.others else ""
            return f"{others}no {'other ' if others else ''}consumer is known"
        read = f"read by {', '.join(named)}"
        return f"{read}; not read by {', '.join(self.others)}" if self.others else read


@dataclass(frozen=True, slots=True)
class Finding:
    """One result about one schema file.

    ``rule`` is an id that never changes its meaning; ``subject`` the subject, or the record's full name if no subject
    is known; ``path`` the file, with ``/``, from the root of the tree that was checked; ``position`` the place in it;
    ``element`` the part of the schema, such as ``items[].sku``, empty for the whole; ``against`` the affected earlier
    versions; ``direction`` which side fails to read the other's records, if it is about compatibility. Then
    ``evidence`` is the record that proves it, or ``no_witness`` has the number of records that were tried without a
    result. ``also_breaks`` are the schemas that refer to this one and break for this reason alone. ``records`` is how
    many records of the topic trigger it, if a sketch of the topic was given. ``readers`` are the consumers of the
    contract, if consumers were given. A finding with an ``approval`` is accepted and breaks no check, nor does one that
    ``is_observed``. ``repair`` is the text that is meant, where that is certain. ``former_fingerprints`` are those that
    earlier releases gave it, so that what accepted it then goes on to count.
    """

    rule: str
    severity: Severity
    subject: str
    path: str
    text: str
    fingerprint: str
    position: Position | None = None
    element: str = ""
    direction: str | None = None
    against: tuple[str, ...] = ()
    evidence: Evidence | None = None
    no_witness: str = ""
    advice: str = ""
    also_breaks: tuple[Dependant, ...] = ()
    records: TopicRecords | None = None
    readers: FindingReaders | None = None
    approval: ReportedApproval | None = None
    is_observed: bool = False
    repair: Repair | None = None
    former_fingerprints: tuple[str, ...] = ()

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprint, then former ones."""
        return (self.fingerprint, *self.former_fingerprints)


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome of one schema file.

    ``subject`` is the path if neither subject nor name is known; ``level`` and ``policy`` are those it was judged by,
    ``compared_with`` the earlier versions. ``confirmed`` counts the generated records that were written with one schema
    and read with the other where the verdict is "compatible". ``is_mapped`` is whether the baseline knows which schema
    the file holds; ``owner`` is the team that is responsible for it, if that is known.
    """

    path: str
    subject: str
    status: Status
    level: CompatibilityLevel
    policy: CompatibilityPolicy
    compared_with: tuple[str, ...] = ()
    confirmed: int = 0
    is_mapped: bool = True
    owner: str = ""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings of a check, and the checked files.

    ``against`` names the other side of the comparison, ``note`` is a sentence about that, usually empty.
    ``names_subjects`` is whether the baseline knows files by their subjects, as a registry does; ``needs_all`` whether
    the result is "cannot say" if a file could not be judged, though it is not new; ``allows_unmapped`` excepts files
    whose subject is not known. ``fail_on_by_path`` has the least severity that fails for
    the files that have one of their own. ``consumers`` counts the consumers whose reads were compared; None if none
    were given. ``environment`` is the one whose live versions were considered, if any; ``is_undecided`` means that
    the registry gave no verdict about it.
    """

    against: str
    files: tuple[FileOutcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    note: str = ""
    names_subjects: bool = False
    needs_all: bool = False
    allows_unmapped: bool = False
    fail_on_by_path: Mapping[str, FailOn] = field(default_factory=dict)
    consumers: int | None = None
    environment: str = ""
    is_undecided: bool = False

    @property
    def checked(self) -> int:
        """The number of files that were checked, including new ones."""
        return sum(outcome.status is not Status.SKIPPED for outcome in self.files)

    @property
    def judged(self) -> int:
        """The number of files that were judged against an earlier version."""
        return sum(outcome.status not in _NOT_JUDGED for outcome in self.files)

    @property
    def new(self) -> int:
        """The number of files without an earlier version."""
        return sum(outcome.status is Status.NEW for outcome in self.files)

    @property
    def unmapped(self) -> int:
        """The number of files whose subject is not known."""
        return sum(not outcome.is_mapped for outcome in self.files)

    @property
    def is_incomplete(self) -> bool:
        """Whether a file that had to be judged could not be."""
        skipped = (each for each in self.files if each.status is Status.SKIPPED)
        return self.needs_all and any(each.is_mapped or not self.allows_unmapped for each in skipped)

    def count(self, severity: Severity) -> int:
        """Return the number of findings with this severity that are not approved."""
        return sum(finding.severity is severity and finding.approval is None for finding in self.findings)

    @property
    def approved(self) -> int:
        """The number of approved findings."""
        return sum(finding.approval is not None for finding in self.findings)

    def is_failing(self, finding: Finding, fail_on: FailOn | None) -> bool:
        """Return whether a finding is not approved and at least as severe as ``fail_on``, or else its file's own.

        One that is only observed never is.
        """
        if finding.is_observed:
            return False
        limit = fail_on or self.fail_on_by_path.get(finding.path, FailOn.ERROR)
        return finding.approval is None and finding.severity in _FAILING[limit]

    def is_broken(self, fail_on: FailOn | None) -> bool:
        """Return whether a finding is failing."""
        return any(self.is_failing(finding, fail_on) for finding in self.findings)


_FAILING = {
    FailOn.ERROR: frozenset({Severity.ERROR}),
    FailOn.WARNING: frozenset({Severity.ERROR, Severity.WARNING}),
    FailOn.NEVER: frozenset[Severity](),
}


def fingerprint(rule: str, subject: str, *facts: Identity) -> str:
    """Return twelve hex digits that stay the same while the finding is the same.

    They are from SHA-256 over a JSON array of rule, subject and ``facts`` (direction, the names on the path to the
    place, what is there and what was there), so that different facts are never the same text. Positions are not
    included: moving a field or a file changes nothing.
    """
    hashed = json.dumps([rule, subject, *facts])
    return hashlib.sha256(hashed.encode()).hexdigest()[:FINGERPRINT_LENGTH]


class FindingNumbers:
    """Numbers findings that have the same facts, in their order, so that their fingerprints differ."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}

    def next(self, *facts: Hashable) -> tuple[str, ...]:
        """Return the number that tells a finding from earlier ones with the same facts; nothing for the first one."""
        number = self._counts[facts] = self._counts.get(facts, 0) + 1
        return () if number == 1 else (str(number),)


# What identifies a break of consumers, for a check of files and for the verdicts of a registry.
#
# A fingerprint is made of facts: rule, subject, the path that is read, the place, what is expected and what is written
# there, who breaks, and for a path that leads nowhere because something else stands on the way, what stands where.
# Release 0.2.0 made it of the sentence instead of place and facts; such former fingerprints are still computed, so that
# approvals that were stored then go on to count.

_MISSING: Final = "consumer-field-missing"


def sentence_of(finding: ReadFinding) -> str:
    """Return the sentence without the name of the element at its start, which reports put in front of it."""
    element = print_path(finding.element)
    text = finding.text.removeprefix(f"{element}: ")
    return f"it {text.removeprefix(f'{element} ')}" if text.startswith(f"{element} ") else text


@dataclass(slots=True)
class ConsumerBreak:
    """Findings about a subject that are one break: at the same place with the same thing written.

    ``finding`` is the first one, or what the contract itself says; ``broken`` are the ids of the consumers that break,
    ``concerned`` those of the consumers that what the contract says is about, ``texts`` the sentences, ``expected``
    what the consumers expect. Another set of consumers is another break.
    """

    subject: str
    finding: ReadFinding
    broken: dict[str, None] = field(default_factory=dict)
    concerned: dict[str, None] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)
    expected: dict[str, None] = field(default_factory=dict)

    def add(self, finding: ReadFinding, *consumers: str) -> None:
        """Add a finding; ``consumers`` are the ids of those that it concerns."""
        is_about_contract = finding.application is None
        (self.concerned if is_about_contract else self.broken).update(dict.fromkeys(consumers))
        if (
            is_about_contract and self.finding.application is not None
        ):  # what the contract itself says is the better sentence
            self.finding, self.texts = finding, {}
        if is_about_contract or self.finding.application is not None:
            self.texts[sentence_of(finding)] = None
        self.expected[finding.expected] = None

    @property
    def text(self) -> str:
        """All sentences."""
        return "; ".join(self.texts)

    def fingerprint(self, *, without: str = "") -> str:
        """Return the fingerprint, or that of the break of all consumers but one."""
        found = self.finding
        around = [] if found.around is None else [[print_path(found.around[0]), found.around[1]]]
        return fingerprint(
            found.rule,
            self.subject,
            print_path(found.element),
            print_path(found.place),
            found.written,
            sorted(self.expected),
            sorted(each for each in self.consumers if each != without),
            *around,
        )

    @property
    def consumers(self) -> dict[str, None]:
        """The ids of all consumers that the break is about."""
        return {**self.broken, **self.concerned}

    def former_fingerprint(self, *, without: str = "") -> str:
        """Return the fingerprint that release 0.2.0 gave to the break.

        The sentence about a missing field named other fields, and was left out.
        """
        facts = "" if self.finding.rule == _MISSING else self.text
        broken = sorted(each for each in self.broken if each != without)
        return fingerprint(self.finding.rule, self.subject, print_path(self.finding.element), facts, broken)


class FormerBreaks:
    """The breaks as release 0.2.0 saw them: of each consumer the first finding of a rule at a path that it reads.

    ``joins_promises``: all that a contract no longer promises of a path is one break, as in a check of files.
    """

    def __init__(self, *, joins_promises: bool = False) -> None:
        self._joins_promises = joins_promises
        self._groups: dict[Hashable, ConsumerBreak] = {}
        self._seen: set[Hashable] = set()
        self._group_by_break: dict[Hashable, Hashable] = {}

    def add(self, key: Hashable, finding: ReadFinding, *, subject: str, group: Hashable, consumer: str) -> None:
        """Add a finding of the break ``key``; ``group`` is equal where release 0.2.0 saw one break.

        ``consumer`` is the id of the one that breaks. What was not reported beside another finding has no former
        fingerprint.
        """
        former = finding.former
        if former is None:
            return
        then = replace(finding, rule=former.rule, element=former.element, text=former.text)
        full = (group, subject, former.rule, former.element)
        is_joined = self._joins_promises and finding.application is None
        seen = (*full, finding.application and consumer, former.text if is_joined else "")
        if seen not in self._seen:
            self._seen.add(seen)
            self._groups.setdefault(full, ConsumerBreak(subject, then)).add(then, consumer)
        self._group_by_break.setdefault(key, full)

    def of(self, key: Hashable) -> ConsumerBreak | None:
        """Return the break of which ``key`` was a part; None if it was none."""
        group = self._group_by_break.get(key)
        return None if group is None else self._groups[group]
