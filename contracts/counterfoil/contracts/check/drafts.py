"""Findings about a schema file while it is checked, its comparison with one version, and findings with one cause."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

from counterfoil.contracts.advice import SIDE_NAMES_BY_DIRECTION, UNDECIDED, advice_for
from counterfoil.contracts.findings import Dependant, Evidence, Finding, fingerprint
from counterfoil.contracts.project import FileProblem, ReadSchema, SchemaTree
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.compatibility.findings import (
    Difference,
    Earlier,
    Fact,
    Failure,
    Identity,
    NoWitness,
    Witness,
    identity_of,
    names_of,
)
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement import Budget, Incompatibility, UnreadValue, judge
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import FieldPath, print_path
from counterfoil.schema.reports import Severity
from counterfoil.schema.texts import Pointer, Position

# Findings that are not complete yet, and how findings of several files with one cause become one finding.
#
# A schema that refers to another one breaks where that one breaks. The finding is then reported once, in the file that
# was changed, with the schemas that refer to it. A finding of a dependant with another cause stays in its own file.

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
class FindingProof:
    """The result of the search for a record: the evidence, or the sentence about a search without a result."""

    evidence: Evidence | None = None
    no_witness: str = ""


@dataclass(slots=True)
class FindingDraft:
    """A finding whose proof has not been searched for yet.

    ``cause`` is None if no other finding can have the same one; ``is_own`` is whether the cause is in the finding's own
    file.
    """

    finding: Finding
    cause: Cause | None = None
    is_own: bool = True
    search: Callable[[], FindingProof] | None = None

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
        self._by_fingerprint: dict[str, FindingDraft] = {}

    def __iter__(self) -> Iterator[FindingDraft]:
        return iter(self._by_fingerprint.values())

    def add(self, draft: FindingDraft) -> None:
        """Add a draft, or add its earlier versions to an equal finding that exists already."""
        known = self._by_fingerprint.setdefault(draft.finding.fingerprint, draft)
        if known is not draft:
            known.add_versions(draft.finding.against)

    def remove(self, draft: FindingDraft) -> None:
        """Remove a draft that was added."""
        del self._by_fingerprint[draft.finding.fingerprint]


def fold(
    drafts_by_path: Mapping[str, Drafts],
    *,
    referred: Callable[[str], Collection[str]],
    move: Callable[[str, FindingDraft], FindingDraft | None],
) -> None:
    """Merge the findings of dependants into the findings at their causes.

    ``referred`` returns the paths of the files that a file refers to, directly or not. ``move`` returns a dependant's
    finding as the one at its cause in the file at a path, if that file was judged in the same way as the dependant and
    has no such finding itself; None otherwise. It is called only if several files have the same cause.
    """
    at_cause: dict[Cause, list[tuple[str, FindingDraft]]] = {}
    dependants: dict[Cause, list[tuple[str, FindingDraft]]] = {}
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
    found: list[tuple[str, FindingDraft]],
    drafts_by_path: Mapping[str, Drafts],
    move: Callable[[str, FindingDraft], FindingDraft | None],
) -> list[tuple[str, FindingDraft]]:
    """Return the finding in a JSON file that declares a type which several others refer to, and does not use it."""
    if not cause.is_in_document or len(found) == 1 or cause.holder not in drafts_by_path:
        return []
    draft = move(cause.holder, found[0][1])
    if draft is None:
        return []
    drafts_by_path[cause.holder].add(draft)
    return [(cause.holder, draft)]


def _weighs_as_much(owner: FindingDraft, draft: FindingDraft) -> bool:
    return _WEIGHT[owner.finding.severity] >= _WEIGHT[draft.finding.severity]


# The findings about one schema file while it is checked.

_SEEN_FROM_THE_ROOT: Final = "column"
"""The fact about a difference that depends on the schema in which the difference shows."""


class FileDrafts(Drafts):
    """The findings about the file at ``path`` of ``head``, which grow while it is checked.

    ``is_shared``: other files have the same subject, so that the path is a part of a finding's identity.
    """

    def __init__(self, head: SchemaTree, path: str, subject: str, *, is_shared: bool = False) -> None:
        super().__init__()
        self.path = path
        self.subject = subject
        self._head = head
        self._is_shared = is_shared

    def fingerprint(self, rule: str, *facts: Identity) -> str:
        """Return the fingerprint of a finding about this file."""
        return fingerprint(rule, self.subject, *facts, *([self.path] if self._is_shared else []))

    def report(
        self,
        rule: str,
        severity: Severity,
        text: str,
        *,
        position: Position | None = None,
        path: FieldPath = (),
        identity: Identity = (),
        direction: Direction | None = None,
        against: tuple[str, ...] = (),
        search: Callable[[], FindingProof] | None = None,
        because: Difference | None = None,
    ) -> None:
        """Add a finding, or add its earlier versions to an equal finding that exists already.

        ``path`` is the part of the schema, ``identity`` distinguishes it from others of the same rule, and ``because``
        is the difference that causes it.
        """
        direction_name = direction.name if direction else None
        finding = Finding(
            rule=rule,
            severity=severity,
            subject=self.subject,
            path=self.path,
            text=text,
            fingerprint=self.fingerprint(rule, direction_name, identity),
            position=position,
            element=print_path(path),
            direction=direction_name,
            against=against,
            advice=advice_for(rule, direction),
        )
        cause, is_own = self.cause(because, direction) if because and direction else (None, True)
        self.add(FindingDraft(finding, cause, is_own, search))

    def cause(self, difference: Difference, direction: Direction) -> tuple[Cause | None, bool]:
        """Return the cause of a finding, and whether it is in this file."""
        inner = difference.because or difference
        origin = inner.reader_origin if direction is Direction.BACKWARD else inner.writer_origin
        if origin is None:
            return None, True
        holder = origin.holder
        if origin.is_document:
            holder = self.path if origin.is_own else self._referred.get(holder, holder)
        facts = tuple(fact for fact in inner.sentence.facts if fact[0] != _SEEN_FROM_THE_ROOT)
        cause = Cause(direction, holder, origin.steps, inner.rule, facts, is_in_document=origin.is_document)
        return cause, origin.is_own

    @cached_property
    def _referred(self) -> Mapping[str, str]:
        return self._head.referred(self.path)


# The findings about a difference between two schemas: identity, place, and a search for a record that found none.

FIELDS: Final = "fields"
"""The member of a record of Avro that lists its fields."""


def position_of(failure: Failure, difference: Difference) -> Position | None:
    """Return the position of the difference in the schema that is checked; for a missing part, the nearest position."""
    pointers = [difference.reader_pointer, difference.writer_pointer]
    candidate, is_reader = failure.reader, failure.direction is Direction.BACKWARD
    if not is_reader:
        candidate, pointers = failure.writer, pointers[::-1]
    if language_for(candidate.schema_type).pointers_are_names:
        return candidate.locate(pointers[0] or pointers[1])
    return _beside_header(candidate, *pointers) or candidate.locate(pointers[0])


def _beside_header(candidate: ParsedSchema, mine: Pointer, theirs: Pointer) -> Position | None:
    """Return the position of the field that is now where a missing one was, or of the one before it.

    That is for a list of fields that begins in the line of its record, such as the first line of a file, which says
    nothing about the field. None for any other difference.
    """
    if mine[-1:] != (FIELDS,) or theirs[-2:-1] != (FIELDS,) or not isinstance(theirs[-1], int):
        return None
    header, listed = candidate.locate(mine[:-1]), candidate.locate(mine)
    if header is None or listed is None or header.line != listed.line:
        return None
    near = [candidate.locate((*mine, index)) for index in (theirs[-1], theirs[-1] - 1) if index >= 0]
    return next((each for each in near if each is not None and each.line > header.line), None)


def no_witness(outcome: Witness | NoWitness, difference: Difference) -> str:
    """Return the sentence about a search without a result.

    It is empty if nothing was tried and the rule promises no witness.
    """
    if isinstance(outcome, Witness):
        return ""
    from counterfoil.schema.languages.rules import RULE_BY_ID  # the tables of all languages cost start time

    rule = RULE_BY_ID.get(difference.rule)
    is_due = outcome.tried > 0 or (rule is not None and rule.promises_witness)
    return str(outcome) if is_due else ""


# The comparison of a schema file with one earlier version.

_UNREAD: Final = "compatible-yet-unread"
_UNRESOLVED: Final = "unresolved-reference"
"""The rule of a difference about a reference that is not resolved, which is then the only difference of the pair."""


class VersionCheck:
    """The comparison of one candidate with its earlier versions, one after the other.

    ``confirmed`` counts the records that were written and read; ``weighable`` are the fingerprints of differences that
    the records of a topic can be compared with.
    """

    def __init__(
        self,
        candidate: ParsedSchema,
        drafts: FileDrafts,
        *,
        level: CompatibilityLevel,
        policy: CompatibilityPolicy,
        confirm: int,
    ) -> None:
        self._candidate = candidate
        self._drafts = drafts
        self._level = level
        self._policy = policy
        self._budget = Budget(confirmed=confirm)
        self.confirmed = 0
        self.weighable: set[str] = set()

    def judge(self, earlier: ReadSchema) -> bool:
        """Return whether the candidate could be judged against ``earlier``."""
        candidate = self._candidate
        if earlier.schema is None:
            return self._cannot_compare(earlier, earlier.problem or FileProblem("unreadable"))
        try:
            judgement = judge(
                candidate, [Earlier(earlier.schema)], self._level, policy=self._policy, budget=self._budget
            )
        except JudgementUndecided as error:
            self._drafts.report(UNDECIDED, Severity.WARNING, error.message, against=(earlier.label,))
            return False
        except InvalidSchema as error:  # nested too deeply to be compared
            self._drafts.report("schema-invalid", Severity.ERROR, error.message, against=(earlier.label,))
            return True
        self.confirmed += judgement.round_tripped
        for unread in judgement.unread:
            self._report_unread(unread, earlier)
        for found in judgement.incompatibilities:
            if found.difference.rule == _UNRESOLVED:  # the candidate's own references were checked when it was read
                return self._cannot_compare(earlier, FileProblem(found.difference.detail))
            self._add_difference(found, earlier)
        return True

    def _report_unread(self, unread: UnreadValue, earlier: ReadSchema) -> None:
        """Add a finding about a record that is not read as it was written, with the rule that SOUND has for it, if any.

        Under SOUND there should be no such record, so that it is an error.
        """
        failure, direction = unread.failure, unread.failure.direction
        why = next(iter(failure.differences), None)
        evidence = self._evidence(unread.witness, earlier, direction)
        text = "compatible by the policy's rules, and yet this record is not read as it was written: " + evidence.step
        position: Position | None = None
        path: FieldPath = ()
        if why is not None:
            said = why.sentence.render(SIDE_NAMES_BY_DIRECTION[direction], is_start=False)
            text += f"; {said} ({why.rule})"
            position, path = position_of(failure, why), why.element
        is_promised = self._policy is CompatibilityPolicy.SOUND
        self._drafts.report(
            _UNREAD,
            Severity.ERROR if is_promised else Severity.WARNING,
            text,
            position=position,
            path=path,
            identity=names_of(path),
            direction=direction,
            against=(earlier.label,),
            search=partial(FindingProof, evidence),
            # a difference in this file comes before those of others
            because=next((one for one in failure.differences if self._drafts.cause(one, direction)[1]), why),
        )

    def _evidence(self, witness: Witness, earlier: ReadSchema, direction: Direction) -> Evidence:
        is_backward = direction is Direction.BACKWARD
        reader, writer = (self._drafts.path, earlier.label) if is_backward else (earlier.label, self._drafts.path)
        return Evidence(
            datum_json=witness.datum_json,
            writer=writer,
            reader=reader,
            step=witness.stop.render(SIDE_NAMES_BY_DIRECTION[direction], is_start=False),
            confirmed_by=witness.confirmed_by,
        )

    def _cannot_compare(self, earlier: ReadSchema, problem: FileProblem) -> bool:
        where = f" at {problem.position}" if problem.position else ""
        text = f"nothing can be compared with the earlier text{where}: {problem.text}"
        self._drafts.report("baseline-invalid", Severity.WARNING, text, against=(earlier.label,))
        return False

    def _add_difference(self, found: Incompatibility, earlier: ReadSchema) -> None:
        failure, difference = found.failure, found.difference
        if failure.direction is Direction.BACKWARD:
            names = (failure.direction.name, identity_of(difference))
            self.weighable.add(self._drafts.fingerprint(difference.rule, *names))
        self._drafts.report(
            difference.rule,
            Severity.ERROR,
            difference.sentence.render(SIDE_NAMES_BY_DIRECTION[failure.direction], is_start=False),
            position=position_of(failure, difference),
            path=difference.element,
            identity=identity_of(difference),
            direction=failure.direction,
            against=(earlier.label,),
            search=partial(self._proof, found, earlier),
            because=difference,
        )

    def _proof(self, found: Incompatibility, earlier: ReadSchema) -> FindingProof:
        witness = found.search_for_witness()
        if isinstance(witness, Witness):
            return FindingProof(self._evidence(witness, earlier, found.failure.direction))
        return FindingProof(no_witness=no_witness(witness, found.difference))
