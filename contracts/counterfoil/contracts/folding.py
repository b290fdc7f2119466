"""Findings that are not complete yet, and how findings of several files with one cause become one finding.

A schema that refers to another one breaks where that one breaks. The finding is then reported once, in the file that
was changed, with the schemas that refer to it. A finding of a dependant with another cause stays in its own file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.model import Dependant
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from counterfoil.contracts.model import Evidence, Finding
    from counterfoil.schema.compatibility.levels import Direction
    from counterfoil.schema.compatibility.sentences import Fact
    from counterfoil.schema.pointer import Pointer

_WEIGHT: Final = {Severity.NOTICE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a finding, which is equal in each file that is affected.

    ``holder`` is the declaration with the cause: an Avro type or a Protobuf message by its full name, a JSON schema by
    the path of its file; in the last case ``is_in_document`` is set. ``steps`` is the path from there; ``rule`` and
    ``facts`` describe the difference.
    """

    direction: Direction
    holder: str
    steps: Pointer
    rule: str
    facts: tuple[tuple[str, Fact], ...]
    is_in_document: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of the search for a record: the evidence, or the sentence about a search without a result."""

    evidence: Evidence | None = None
    no_witness: str = ""


@dataclass(slots=True)
class Draft:
    """A finding whose proof has not been searched for yet.

    ``cause`` is None if no other finding can have the same one; ``is_own`` is whether the cause is in the finding's own
    file.
    """

    finding: Finding
    cause: Cause | None = None
    is_own: bool = True
    search: Callable[[], Proof] | None = None

    def finished(self) -> Finding:
        """Return the finding with its proof."""
        proof = self.search() if self.search is not None else None
        if proof is None:
            return self.finding
        return replace(self.finding, evidence=proof.evidence, no_witness=proof.no_witness)

    def add_versions(self, against: Iterable[str]) -> None:
        """Add further earlier versions to the finding."""
        known = self.finding.against
        self.finding = replace(self.finding, against=(*known, *(label for label in against if label not in known)))

    def add_dependant(self, other: Finding) -> None:
        """Add the schema of ``other`` to the finding as one that also breaks, once."""
        known = self.finding.also_breaks
        if known and known[-1].path == other.path:  # findings arrive file by file
            return
        dependant = Dependant(other.subject, other.path, other.position, other.element, other.against)
        self.finding = replace(self.finding, also_breaks=(*known, dependant))


class Drafts:
    """The drafts of one file; a finding for several earlier versions is one draft."""

    def __init__(self) -> None:
        self._by_fingerprint: dict[str, Draft] = {}

    def __iter__(self) -> Iterator[Draft]:
        return iter(self._by_fingerprint.values())

    def add(self, draft: Draft) -> None:
        """Add a draft, or add its earlier versions to an equal finding that exists already."""
        known = self._by_fingerprint.setdefault(draft.finding.fingerprint, draft)
        if known is not draft:
            known.add_versions(draft.finding.against)

    def remove(self, draft: Draft) -> None:
        """Remove a draft that was added."""
        del self._by_fingerprint[draft.finding.fingerprint]


def fold(
    drafts_by_path: Mapping[str, Drafts],
    *,
    referred: Callable[[str], Collection[str]],
    move: Callable[[str, Draft], Draft | None],
) -> None:
    """Merge the findings of dependants into those at their causes.

    ``referred`` returns the paths of the files that a file refers to, directly or not. ``move`` returns a dependant's
    finding as the one at its cause in the file at a path, if that file was judged in the same way as the dependant and
    has no such finding itself; None otherwise. It is called only if several files have the same cause.
    """
    at_cause: dict[Cause, list[tuple[str, Draft]]] = {}
    dependants: dict[Cause, list[tuple[str, Draft]]] = {}
    for path, drafts in drafts_by_path.items():
        for draft in drafts:
            if draft.cause is not None:
                (at_cause if draft.is_own else dependants).setdefault(draft.cause, []).append((path, draft))
    for cause, found in dependants.items():
        owners = at_cause.get(cause) or _moved(cause, found, drafts_by_path, move)
        for path, draft in found:
            reached = referred(path)
            owner = next((one for other, one in owners if other in reached and _weighs_as_much(one, draft)), None)
            if owner is not None:
                drafts_by_path[path].remove(draft)
                owner.add_dependant(draft.finding)


def _moved(
    cause: Cause,
    found: list[tuple[str, Draft]],
    drafts_by_path: Mapping[str, Drafts],
    move: Callable[[str, Draft], Draft | None],
) -> list[tuple[str, Draft]]:
    """Return the finding in the JSON file that declares what several others refer to and does not use it itself."""
    if not cause.is_in_document or len(found) == 1 or cause.holder not in drafts_by_path:
        return []
    draft = move(cause.holder, found[0][1])
    if draft is None:
        return []
    drafts_by_path[cause.holder].add(draft)
    return [(cause.holder, draft)]


def _weighs_as_much(owner: Draft, draft: Draft) -> bool:
    return _WEIGHT[owner.finding.severity] >= _WEIGHT[draft.finding.severity]
