"""What identifies a break of consumers, for a check of files and for the verdicts of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.contracts.model import fingerprint
from counterfoil.schema.paths import print_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.reads.model import ReadFinding

_MISSING: Final = "consumer-field-missing"


def sentence_of(finding: ReadFinding) -> str:
    """Return the sentence without the name of the element at its start, which reports put in front of it."""
    element = print_path(finding.element)
    text = finding.text.removeprefix(f"{element}: ")
    return f"it {text.removeprefix(f'{element} ')}" if text.startswith(f"{element} ") else text


def fingerprint_of(finding: ReadFinding, subject: str, *, text: str, broken: Iterable[str]) -> str:
    """Return the fingerprint of a break; ``text`` has its sentences, ``broken`` the ids of the consumers that break.

    Another set of consumers is another break. The sentence about a missing field names other fields, which do not
    matter.
    """
    facts = "" if finding.rule == _MISSING else text
    return fingerprint(finding.rule, subject, print_path(finding.element), facts, tuple(sorted(set(broken))))
