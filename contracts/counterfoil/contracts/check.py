"""The check itself: from schema files and their earlier versions to findings. It does no I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.folding import Cause, Draft, Drafts, Proof, fold
from counterfoil.contracts.generated_code import FILE_MOVED, GeneratedCode, changes_of_generated_code
from counterfoil.contracts.model import (
    CheckReport,
    Evidence,
    FileOutcome,
    Finding,
    Status,
    TopicRecords,
    fingerprint,
)
from counterfoil.contracts.project.mapping import mapping_of, settings_at, settings_of
from counterfoil.contracts.sides import SIDE_NAMES_BY_DIRECTION
from counterfoil.contracts.tree import Problem
from counterfoil.schema.compatibility.levels import CompatibilityLevel, Direction
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier, Failure
from counterfoil.schema.compatibility.sentences import show
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.judgement.judge import Budget, judge
from counterfoil.schema.paths import print_path
from counterfoil.schema.pointer import print_pointer
from counterfoil.schema.position import Position
from counterfoil.schema.reports.model import Severity
from counterfoil.schema.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from counterfoil.contracts.baseline import Baseline
    from counterfoil.contracts.model import FailOn, Identity
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.topic_records import Topics, WeighedSchema
    from counterfoil.contracts.tree import ReadSchema, SchemaTree
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.judgement.judge import Incompatibility, UnreadValue
    from counterfoil.schema.parsed import ParsedSchema, SchemaWarning
    from counterfoil.schema.paths import FieldPath
    from counterfoil.schema.witness import NoWitness

DEFAULT_LEVEL = CompatibilityLevel.BACKWARD
DEFAULT_POLICY = CompatibilityPolicy.STRICT
_UNREAD: Final = "compatible-yet-unread"
_UNREAD_IN_TOPIC: Final = "unread-in-topic"
_MISSING_IMPORT: Final = "missing-import"
_UNRESOLVED: Final = "unresolved-reference"
"""The rule of a difference about a reference that is not resolved, which is then the only difference of the pair."""
_SEEN_FROM_THE_ROOT: Final = "column"
"""The fact about a difference that depends on the schema in which the difference shows."""
_WAS_SO: Final = " (it was so before this change)"


def check_files(
    head: SchemaTree,
    paths: Iterable[str],
    *,
    baseline: Baseline,
    level: CompatibilityLevel | None = None,
    policy: CompatibilityPolicy | None = None,
    confirm: int = 0,
    allow_unmapped: bool = False,
    topics: Topics | None = None,
    project: Project | None = None,
    generated_code: GeneratedCode = GeneratedCode.NONE,
) -> CheckReport:
    """Return the report on the files of ``head`` at ``paths``, compared with ``baseline``.

    ``level`` and ``policy`` take precedence over those that ``project`` has for a file, and these over the baseline's;
    without all three the level is BACKWARD and the policy STRICT. All files and all findings are in the report, in the
    order of paths and positions. Where the verdict is "compatible", ``confirm`` generated records are written with one
    schema and read with the other; one that is not read, or is read as another value, is a warning, since the rules
    allow it and records are misread; under SOUND it is an error.

    A baseline that knows files by their subjects must know each of them, unless ``allow_unmapped``: a file without a
    subject or versions there is then a warning, and the report's result is "cannot say".

    ``topics`` are sketches of topics: each finding gets the number of records that trigger it. With ``generated_code``,
    changes that break code generated from the newest earlier version are errors, too.
    """
    needs_all = baseline.names_subjects and not allow_unmapped
    checks: dict[str, _FileCheck] = {}
    fail_on_by_path: dict[str, FailOn] = {}
    for path in sorted(paths):
        mapping, said = mapping_of(project, head, path), settings_of(project, head, path)
        request = _Request(
            level or said.level or baseline.level(path) or DEFAULT_LEVEL,
            policy or said.policy or baseline.policy(path) or DEFAULT_POLICY,
            confirm,
            needs_all,
            topics,
            owner=said.owner or "",
            subject=mapping.subject if mapping else None,
            generated_code=generated_code,
        )
        if said.fail_on is not None:
            fail_on_by_path[path] = said.fail_on
        checks[path] = _FileCheck(head, path, baseline, request)
    outcomes = [check.run() for check in checks.values()]
    fold(
        {path: check.drafts for path, check in checks.items()},
        referred=lambda path: head.referred(path).values(),
        move=lambda path, draft: checks[path].take_over(draft, checks[draft.finding.path]),
    )
    findings = [finding for check in checks.values() for finding in check.findings()]
    for gone in baseline.removed():
        said = settings_at(project, gone.path, gone.name or None)
        wanted = level or said.level or DEFAULT_LEVEL
        if wanted is not CompatibilityLevel.NONE:
            name = gone.name or gone.path
            outcome = FileOutcome(
                gone.path, name, Status.REMOVED, wanted, policy or said.policy or DEFAULT_POLICY, (baseline.label,)
            )
            outcomes.append(outcome)
            findings.append(_removed(outcome))
            if said.fail_on is not None:
                fail_on_by_path[gone.path] = said.fail_on
    return CheckReport(
        baseline.label,
        tuple(outcomes),
        tuple(findings),
        _note(baseline.note, topics, checks.values()),
        names_subjects=baseline.names_subjects,
        needs_all=needs_all,
        fail_on_by_path=fail_on_by_path,
    )


def _note(note: str, topics: Topics | None, checks: Collection[_FileCheck]) -> str:
    """Return the note of a report, also about sketches that are of no checked file."""
    if topics is None or any(check.has_sketch for check in checks):
        return note
    subjects = ", ".join(subject for sketch in topics.sketches for subject, part in sketch.parts() if part.records)
    unused = f"no checked file is of a subject in the sketch: {subjects or 'it has no records'}"
    return f"{note}; {unused}" if note else unused


def _reading_order(finding: Finding) -> tuple[Position, str, str, str]:
    return finding.position or Position(0, 0), finding.rule, finding.direction or "", finding.fingerprint


def _removed(outcome: FileOutcome) -> Finding:
    rule = "schema-removed"
    return Finding(
        rule=rule,
        severity=Severity.WARNING,
        subject=outcome.subject,
        path=outcome.path,
        text="the schema was removed, so nothing keeps its readers and writers together any longer",
        fingerprint=fingerprint(rule, outcome.subject),
        against=outcome.compared_with,
        advice=advice_for(rule),
    )


def _position(failure: Failure, difference: Difference) -> Position | None:
    """Return the position of the difference in the schema that is checked; for a missing part, the nearest position."""
    pointers = [difference.reader_pointer, difference.writer_pointer]
    candidate, is_reader = failure.reader, failure.direction is Direction.BACKWARD
    if not is_reader:
        candidate, pointers = failure.writer, pointers[::-1]
    if format_for(candidate.schema_type).pointers_are_names:
        return candidate.locate(pointers[0] or pointers[1])
    return candidate.locate(pointers[0])


def _no_witness(outcome: Witness | NoWitness, difference: Difference) -> str:
    """Return the sentence about a search without a result.

    It is empty if nothing was tried and the rule promises no witness.
    """
    if isinstance(outcome, Witness):
        return ""
    from counterfoil.schema.formats.rules import RULE_BY_ID  # the tables of all languages cost start time

    rule = RULE_BY_ID.get(difference.rule)
    is_due = outcome.tried > 0 or (rule is not None and rule.promises_witness)
    return str(outcome) if is_due else ""


def _identity(difference: Difference) -> Identity:
    """Return what identifies a difference: the names on the path to its place, and its facts.

    The place inside a type that another file declares begins with the type's name. The difference further inside that
    causes this one is a part of it.
    """
    origin = difference.reader_origin
    inside = origin.names if origin is not None and not origin.is_own else ()
    inner = difference.because
    because = (inner.rule, _identity(inner)) if inner is not None else ()
    return _names(difference.element), difference.steps or (), inside, difference.own_facts, because


def _names(path: FieldPath) -> Identity:
    return [(kind.value, name) for kind, name in path]


def _warnings(schema: ParsedSchema | None) -> Sequence[SchemaWarning]:
    return schema.warnings() if schema else ()


def _is_same(earlier: ReadSchema, candidate: ReadSchema) -> bool:
    """Return whether nothing changed: the same texts, or, without references, texts with the same meaning."""
    if earlier.content == candidate.content:
        return True
    is_alone = len(earlier.content) == len(candidate.content) == 1
    return (
        is_alone
        and earlier.schema is not None
        and candidate.schema is not None
        and candidate.schema.is_equivalent(earlier.schema)
    )


@dataclass(frozen=True, slots=True)
class _Request:
    level: CompatibilityLevel
    policy: CompatibilityPolicy
    confirm: int = 0
    needs_all: bool = False
    topics: Topics | None = None
    owner: str = ""
    subject: str | None = None
    generated_code: GeneratedCode = GeneratedCode.NONE


class _FileCheck:
    """The check of one file; ``drafts`` grows while it runs."""

    def __init__(self, head: SchemaTree, path: str, baseline: Baseline, request: _Request) -> None:
        self._head = head
        self._candidate = head.read(path)
        self._language = head.language(path)
        self._path = path
        self._baseline = baseline
        self._request = request
        names = head.outline(path)
        self._subject = baseline.subject(path) or request.subject or (names and names.name) or path
        self._confirmed = 0
        self._compared: tuple[str, ...] = ()
        self._weighed: WeighedSchema | None = None
        self._weighable: set[str] = set()
        self.drafts = Drafts()

    def run(self) -> FileOutcome:
        """Check the file and return its outcome."""
        if self._candidate.has_byte_order_mark and format_for(self._language).is_json:
            text = "the file starts with a byte order mark, which JSON forbids and some readers refuse"
            self._add("byte-order-mark", Severity.WARNING, text, position=Position(1, 1))
        history = self._baseline.history(self._path, is_transitive=self._request.level.is_transitive)
        if self._candidate.problem is not None:
            self._report_missing(history or ())
            return self._invalid(self._candidate.problem, history or ())
        if history is None:
            self._report_not_judged("subject-unknown", "nothing says which subject this file holds")
            return replace(self._outcome(Status.SKIPPED), is_mapped=False)
        if history and _is_same(history[0], self._candidate):
            self._report_move(history[0])
            return self._outcome(Status.UNCHANGED, history[:1])
        self._report_missing(history)
        self._report_warnings(history)
        if not history:
            where = f" of subject {self._subject}" if self._baseline.names_subjects else ""
            self._report_not_judged("schema-new", f"new: there is no earlier version{where} in {self._baseline.label}")
            return self._outcome(Status.NEW)
        return self._compare(history)

    def _report_not_judged(self, rule: str, text: str) -> None:
        """Add a notice, or a warning if every file must be judged."""
        if self._request.needs_all:
            self._add(rule, Severity.WARNING, f"{text}; --allow-unmapped allows that")
        else:
            self._add(rule, Severity.NOTICE, text)

    def findings(self) -> list[Finding]:
        """Return the findings in the order of their positions, each with its proof."""
        return sorted((self._with_records(draft.finished()) for draft in self.drafts), key=_reading_order)

    def _with_records(self, finding: Finding) -> Finding:
        """Return a finding with the number of records that trigger it; one that none triggers may be a notice."""
        weighed, topics = self._weighed, self._request.topics
        if weighed is None or topics is None or finding.direction is None:
            return finding
        if finding.direction != Direction.BACKWARD.name:
            return replace(finding, records=TopicRecords(None, weighed.total, is_about_later=True))
        is_known = finding.fingerprint in self._weighable and not finding.also_breaks
        records = weighed.records(finding.fingerprint, is_known=is_known)
        is_ignored = topics.ignores_untriggered and records.is_harmless
        return replace(finding, records=records, severity=Severity.NOTICE if is_ignored else finding.severity)

    def _weigh(self) -> None:
        """Weigh the schema with the records of its topic, and report what the earlier versions do not show."""
        topics, schema = self._request.topics, self._candidate.schema
        if topics is None or schema is None or not self._request.level.directions:
            return
        backward = Direction.BACKWARD

        def known_as(difference: Difference) -> str:
            return fingerprint(difference.rule, self._subject, backward.name, _identity(difference))

        weighed = topics.weigh(self._subject, schema, policy=self._request.policy, fingerprint=known_as)
        self._weighed = weighed
        if weighed is not None and backward in self._request.level.directions:
            for each in weighed.unreported(self._weighable):
                severity = Severity.ERROR if topics.ignores_untriggered else Severity.WARNING
                identity = (each.writer, _identity(each.difference))
                self._add(_UNREAD_IN_TOPIC, severity, each.text, path=each.difference.element, identity=identity)

    @property
    def has_sketch(self) -> bool:
        """Whether a sketch has the records of this schema's subject."""
        topics, schema = self._request.topics, self._candidate.schema
        return topics is not None and schema is not None and topics.find_part(self._subject, schema) is not None

    def take_over(self, draft: Draft, dependant: _FileCheck) -> Draft | None:
        """Return the finding of a dependant at its cause in this file; None if this file was judged differently."""
        schema, cause = self._candidate.schema, draft.cause
        is_alike = self._request.policy is dependant._request.policy and self._compared
        if not is_alike or schema is None or cause is None or cause.direction not in self._request.level.directions:
            return None
        element = schema.path_at(cause.steps)
        facts = [(name, show(fact)) for name, fact in cause.facts]
        found = draft.finding
        finding = replace(
            found,
            subject=self._subject,
            path=self._path,
            fingerprint=fingerprint(
                found.rule, self._subject, found.direction, _names(element), [print_pointer(cause.steps)], facts
            ),
            position=schema.locate(cause.steps),
            element=print_path(element),
            against=self._compared,
        )
        return Draft(finding, cause, is_own=True, search=draft.search)

    def _invalid(self, problem: Problem, history: Sequence[ReadSchema]) -> FileOutcome:
        before = history[0] if history else None
        was_so = before is not None and (
            before.content == self._candidate.content
            or (before.problem is not None and before.problem.text == problem.text)
        )
        text, severity = (f"{problem.text}{_WAS_SO}", Severity.WARNING) if was_so else (problem.text, Severity.ERROR)
        self._add("schema-invalid", severity, text, position=problem.position)
        return self._outcome(Status.INVALID, history[:1])

    def _report_missing(self, history: Sequence[ReadSchema]) -> None:
        """Add the imports that no file here has, unless the schema is invalid for that reason alone."""
        problem = self._candidate.problem
        before = {one.text for one in history[0].missing} if history else set()
        for missing in self._candidate.missing:
            if problem is None or problem.text != missing.text:
                self._report(_MISSING_IMPORT, missing.text, was_so=missing.text in before, position=missing.position)

    def _report_warnings(self, history: Sequence[ReadSchema]) -> None:
        """Add what the language forbids and registries accept."""
        schema = self._candidate.schema
        before = {(one.rule, one.text) for one in _warnings(history[0].schema)} if history else set()
        for warning in _warnings(schema):
            if (
                warning.rule != _MISSING_IMPORT or not self._candidate.missing
            ):  # missing imports are reported with their positions
                self._report(
                    warning.rule,
                    f"{warning.text[:1].lower()}{warning.text[1:]}",
                    was_so=(warning.rule, warning.text) in before,
                    position=schema.locate(warning.pointer) if schema else None,
                    path=schema.path_at(warning.pointer) if schema else (),
                )

    def _report(self, rule: str, text: str, *, was_so: bool, position: Position | None, path: FieldPath = ()) -> None:
        """Add a warning, or an error under SOUND if it is caused by this change."""
        is_error = self._request.policy is CompatibilityPolicy.SOUND and not was_so
        self._add(
            rule,
            Severity.ERROR if is_error else Severity.WARNING,
            f"{text}{_WAS_SO if was_so else ''}",
            position=position,
            path=path,
            identity=(_names(path), text),
        )

    def _compare(self, history: Sequence[ReadSchema]) -> FileOutcome:
        judged = [earlier for earlier in history if self._judge(earlier)]
        self._weigh()
        if self._request.generated_code is not GeneratedCode.NONE:
            self._report_generated_code(history[0])
        self._compared = tuple(earlier.label for earlier in judged)
        return self._outcome(Status.COMPARED if judged else Status.SKIPPED, judged)

    def _report_move(self, earlier: ReadSchema) -> None:
        """Add a finding if the schema was in another file and that breaks generated code."""
        is_moved = earlier.path != self._path and not self._baseline.names_subjects
        if is_moved and self._request.generated_code is GeneratedCode.FILE:
            text = f"the schema was moved from {earlier.path}, so code that is generated from the file moves too"
            self._add(FILE_MOVED, Severity.ERROR, text, against=(earlier.label,))

    def _report_generated_code(self, earlier: ReadSchema) -> None:
        """Add the changes since ``earlier`` that break code which is generated from the schema."""
        schema = self._candidate.schema
        if schema is None or earlier.schema is None:
            return
        self._report_move(earlier)
        for rule, change in changes_of_generated_code(earlier.schema, schema):
            place = change.later_pointer or change.earlier_pointer[:-1]
            self._add(
                rule,
                Severity.ERROR,
                f"{change.element}: {change.text}" if change.element else change.text,
                position=schema.locate(place),
                identity=(change.kind, change.element, change.earlier, change.later),
                against=(earlier.label,),
            )

    def _judge(self, earlier: ReadSchema) -> bool:
        """Return whether the candidate could be judged against ``earlier``."""
        candidate = self._candidate.schema
        if earlier.schema is None or candidate is None:
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
        except InvalidSchema as error:  # nested too deeply to be compared
            self._add("schema-invalid", Severity.ERROR, error.message, against=(earlier.label,))
            return True
        self._confirmed += judgement.round_tripped
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
            position, path = _position(failure, why), why.element
        is_promised = self._request.policy is CompatibilityPolicy.SOUND
        self._add(
            _UNREAD,
            Severity.ERROR if is_promised else Severity.WARNING,
            text,
            position=position,
            path=path,
            identity=_names(path),
            direction=direction,
            against=(earlier.label,),
            search=partial(Proof, evidence),
            # a difference in this file comes before those of others
            because=next((one for one in failure.differences if self._cause(one, direction)[1]), why),
        )

    def _evidence(self, witness: Witness, earlier: ReadSchema, direction: Direction) -> Evidence:
        is_backward = direction is Direction.BACKWARD
        reader, writer = (self._path, earlier.label) if is_backward else (earlier.label, self._path)
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
        self._add("baseline-invalid", Severity.WARNING, text, against=(earlier.label,))
        return False

    def _add_difference(self, found: Incompatibility, earlier: ReadSchema) -> None:
        failure, difference = found.failure, found.difference
        if failure.direction is Direction.BACKWARD:
            names = (self._subject, failure.direction.name, _identity(difference))
            self._weighable.add(fingerprint(difference.rule, *names))
        self._add(
            difference.rule,
            Severity.ERROR,
            difference.sentence.render(SIDE_NAMES_BY_DIRECTION[failure.direction], is_start=False),
            position=_position(failure, difference),
            path=difference.element,
            identity=_identity(difference),
            direction=failure.direction,
            against=(earlier.label,),
            search=partial(self._proof, found, earlier),
            because=difference,
        )

    def _proof(self, found: Incompatibility, earlier: ReadSchema) -> Proof:
        witness = found.search_for_witness()
        if isinstance(witness, Witness):
            return Proof(self._evidence(witness, earlier, found.failure.direction))
        return Proof(no_witness=_no_witness(witness, found.difference))

    def _add(
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
        search: Callable[[], Proof] | None = None,
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
            subject=self._subject,
            path=self._path,
            text=text,
            fingerprint=fingerprint(rule, self._subject, direction_name, identity),
            position=position,
            element=print_path(path),
            direction=direction_name,
            against=against,
            advice=advice_for(rule, direction),
        )
        cause, is_own = self._cause(because, direction) if because and direction else (None, True)
        self.drafts.add(Draft(finding, cause, is_own, search))

    def _cause(self, difference: Difference, direction: Direction) -> tuple[Cause | None, bool]:
        """Return the cause of a finding, and whether it is in this file."""
        inner = difference.because or difference
        origin = inner.reader_origin if direction is Direction.BACKWARD else inner.writer_origin
        if origin is None:
            return None, True
        holder = origin.holder
        if origin.is_document:
            holder = self._path if origin.is_own else self._referred.get(holder, holder)
        facts = tuple(fact for fact in inner.sentence.facts if fact[0] != _SEEN_FROM_THE_ROOT)
        cause = Cause(direction, holder, origin.steps, inner.rule, facts, is_in_document=origin.is_document)
        return cause, origin.is_own

    @cached_property
    def _referred(self) -> Mapping[str, str]:
        return self._head.referred(self._path)

    def _outcome(self, status: Status, compared: Sequence[ReadSchema] = ()) -> FileOutcome:
        labels = tuple(earlier.label for earlier in compared)
        request = self._request
        return FileOutcome(
            self._path,
            self._subject,
            status,
            request.level,
            request.policy,
            labels,
            self._confirmed,
            owner=request.owner,
        )
