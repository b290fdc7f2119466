"""What identifies a break of consumers, for a check of files and for the verdicts of a registry.

A fingerprint is made of facts: rule, subject, the path that is read, the place, what is expected and what is written
there, who breaks, and for a path that leads nowhere because something else stands on the way, what stands where.
Release 0.2.0 made it of the sentence instead of place and facts; such former fingerprints are still computed, so that
approvals that were stored then go on to count.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.model import fingerprint
from counterfoil.schema.paths import print_path

if TYPE_CHECKING:
    from collections.abc import Hashable

    from counterfoil.schema.reads.model import ReadFinding

_MISSING: Final = "consumer-field-missing"


def sentence_of(finding: ReadFinding) -> str:
    """Return the sentence without the name of the element at its start, which reports put in front of it."""
    element = print_path(finding.element)
    text = finding.text.removeprefix(f"{element}: ")
    return f"it {text.removeprefix(f'{element} ')}" if text.startswith(f"{element} ") else text


@dataclass(slots=True)
class Break:
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
        self._groups: dict[Hashable, Break] = {}
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
            self._groups.setdefault(full, Break(subject, then)).add(then, consumer)
        self._group_by_break.setdefault(key, full)

    def of(self, key: Hashable) -> Break | None:
        """Return the break of which ``key`` was a part; None if it was none."""
        group = self._group_by_break.get(key)
        return None if group is None else self._groups[group]
