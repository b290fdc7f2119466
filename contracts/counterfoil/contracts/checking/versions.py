"""The comparison of a schema file with one earlier version."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.advice import UNDECIDED
from counterfoil.contracts.checking.differences import no_witness, position_of
from counterfoil.contracts.folding import Proof
from counterfoil.contracts.model import Evidence
from counterfoil.contracts.sides import SIDE_NAMES_BY_DIRECTION
from counterfoil.contracts.tree import Problem
from counterfoil.schema.compatibility.identity import identity_of, names_of
from counterfoil.schema.compatibility.levels import Direction
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement.judge import Budget, judge
from counterfoil.schema.reports.model import Severity
from counterfoil.schema.witness import Witness

if TYPE_CHECKING:
    from counterfoil.contracts.checking.drafting import FileDrafts
    from counterfoil.contracts.checking.request import FileRequest
    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.judgement.judge import Incompatibility, UnreadValue
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths import FieldPath
    from counterfoil.schema.position import Position

_UNREAD: Final = "compatible-yet-unread"
_UNRESOLVED: Final = "unresolved-reference"
"""The rule of a difference about a reference that is not resolved, which is then the only difference of the pair."""


class VersionCheck:
    """The comparison of one candidate with its earlier versions, one after the other.

    ``confirmed`` counts the records that were written and read; ``weighable`` are the fingerprints of differences that
    the records of a topic can be compared with.
    """

    def __init__(self, candidate: ParsedSchema, request: FileRequest, drafts: FileDrafts) -> None:
        self._candidate = candidate
        self._request = request
        self._drafts = drafts
        self.confirmed = 0
        self.weighable: set[str] = set()

    def judge(self, earlier: ReadSchema) -> bool:
        """Return whether the candidate could be judged against ``earlier``."""
        candidate = self._candidate
        if earlier.schema is None:
            return self._cannot_compare(earlier, earlier.problem or Problem("unreadable"))
        request = self._request
        try:
            judgement = judge(
                candidate,
                [Earlier(earlier.schema)],
                request.level,
                policy=request.policy,
                budget=Budget(confirmed=request.confirm),
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
                return self._cannot_compare(earlier, Problem(found.difference.detail))
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
        is_promised = self._request.policy is CompatibilityPolicy.SOUND
        self._drafts.report(
            _UNREAD,
            Severity.ERROR if is_promised else Severity.WARNING,
            text,
            position=position,
            path=path,
            identity=names_of(path),
            direction=direction,
            against=(earlier.label,),
            search=partial(Proof, evidence),
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

    def _cannot_compare(self, earlier: ReadSchema, problem: Problem) -> bool:
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

    def _proof(self, found: Incompatibility, earlier: ReadSchema) -> Proof:
        witness = found.search_for_witness()
        if isinstance(witness, Witness):
            return Proof(self._evidence(witness, earlier, found.failure.direction))
        return Proof(no_witness=no_witness(witness, found.difference))
