"""Findings that are not complete yet, and how those of several files that have one cause become one finding.

A schema that refers to another one breaks where that breaks. What is wrong is then reported once, where it was
changed, with the schemas that refer to it. A finding of a dependant that has another cause stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.model import Dependant, Severity
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from counterfoil.contracts.model import Evidence, Finding
    from counterfoil.schema.compatibility.levels import Direction
    from counterfoil.schema.compatibility.sentences import Fact

_WEIGHT: Final = {Severity.NOTICE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Cause:
    """What a finding comes from, the same in each file that it shows in.

    ``holder`` is the declaration that it stands in: an Avro type or a Protobuf message by its full name, a JSON schema
    by the path of its file. ``steps`` lead on from there; ``rule`` and ``facts`` are what is wrong there.
    """

    language: SchemaType
    direction: Direction
    holder: str
    steps: tuple[str, ...]
    rule: str
    facts: tuple[tuple[str, Fact], ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of the search for a record: the evidence, or what to say of a search in vain."""

    evidence: Evidence | None = None
    no_witness: str = ""


@dataclass(slots=True)
class Draft:
    """A finding whose proof has not been looked for yet.

    ``cause`` is None where nothing else can have the same one; ``is_own`` says whether it stands in the finding's own
    file.
    """

    finding: Finding
    cause: Cause | None = None
    is_own: bool = True
    search: Callable[[], Proof] | None = None

    def finished(self) -> Finding:
        """The finding with its proof."""
        proof = self.search() if self.search is not None else None
        if proof is None:
            return self.finding
        return replace(self.finding, evidence=proof.evidence, no_witness=proof.no_witness)

    def add_versions(self, against: Iterable[str]) -> None:
        """Have the finding concern further earlier versions."""
        known = self.finding.against
        self.finding = replace(self.finding, against=(*known, *(label for label in against if label not in known)))

    def add_dependant(self, other: Finding) -> None:
        """Have the finding name the schema of ``other`` as one that breaks with it, once."""
        known = self.finding.also_breaks
        if known and known[-1].path == other.path:  # they come file by file
            return
        dependant = Dependant(other.subject, other.path, other.position, other.element, other.against)
        self.finding = replace(self.finding, also_breaks=(*known, dependant))


class Drafts:
    """The drafts of one file; a finding that is made for several earlier versions is one draft."""

    def __init__(self) -> None:
        self._by_fingerprint: dict[str, Draft] = {}

    def __iter__(self) -> Iterator[Draft]:
        return iter(self._by_fingerprint.values())

    def add(self, draft: Draft) -> None:
        """Add a draft, or its earlier versions to the same finding made before."""
        known = self._by_fingerprint.setdefault(draft.finding.fingerprint, draft)
        if known is not draft:
            known.add_versions(draft.finding.against)

    def remove(self, draft: Draft) -> None:
        """Take out a draft that was added."""
        del self._by_fingerprint[draft.finding.fingerprint]


def fold(
    drafts_by_path: Mapping[str, Drafts],
    *,
    referred: Callable[[str], Collection[str]],
    move: Callable[[str, Draft], Draft | None],
) -> None:
    """Fold the findings of dependants into those at their causes.

    ``referred`` gives the paths of the files that a file refers to, directly or not. ``move`` makes of a dependant's
    finding the one at its cause in the file at a path, for a file that was judged as the dependant was and has no
    such finding itself; None where it was not. It is called only where several files share the cause.
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
    """The finding in the JSON file that declares what several others refer to and it does not use itself."""
    if cause.language is not SchemaType.JSON or len(found) == 1 or cause.holder not in drafts_by_path:
        return []
    draft = move(cause.holder, found[0][1])
    if draft is None:
        return []
    drafts_by_path[cause.holder].add(draft)
    return [(cause.holder, draft)]


def _weighs_as_much(owner: Draft, draft: Draft) -> bool:
    return _WEIGHT[owner.finding.severity] >= _WEIGHT[draft.finding.severity]
