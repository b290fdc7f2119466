"""Two schemas compared, of versions or of texts, and the verdict about a draft; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from counterfoil.registry.access.resources import AccessOperation, subject_resource
from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.contracts.verdicts.proposals import ConsumerGate
from counterfoil.registry.inspection.belongings import SubjectBelongings, is_read_at
from counterfoil.registry.inspection.facts import DerivedFacts, weight_of_comparison
from counterfoil.registry.inspection.subjects import reference_names
from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.compatibility import QUICK_BUDGETS, Admission, CompatibilityCheck, check_sound
from counterfoil.registry.subjects.levels import (
    Scopes,
    check_registration,
    is_decided_by_consumers,
    level_of,
    permits_bridged,
    policy_of,
)
from counterfoil.registry.subjects.reading import LANGUAGE_CODE, Matcher, SchemaReader, completed
from counterfoil.registry.subjects.versions import (
    Candidate,
    SchemaRequest,
    SubjectHistory,
    VersionEntry,
    check_subject,
    parse_version,
)
from counterfoil.schema.comparing import (
    ComparedSide,
    ComparisonLimits,
    ComparisonQuestion,
    compare_schemas,
    comparison_in_parts,
)
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.contexts import TOP_LEVEL, QualifiedSubject, parse_subject
from counterfoil.schema.errors import (
    BadRequest,
    InvalidSchema,
    InvalidSubject,
    InvalidVersion,
    JudgementUndecided,
    OperationNotPermitted,
    SchemaParseError,
)
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import DEFAULT_TYPE, Reference, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.comparisons import DraftFault, DraftVerdict, LevelAnswer, Operand, SchemaComparison
from counterfoil.schema.rest.inspection import ReaderRow, VersionName
from counterfoil.schema.rest.observations import WHOLE_RECORD
from counterfoil.schema.rest.subjects import Config

_HISTORY_VERSIONS: Final = 200
"""The newest versions of a subject with which a comparison answers the levels."""

_NO_PROOFS: Final = ComparisonLimits(witnesses=0, confirmed=0)
_WHOLE: Final = ComparisonLimits()
QUICK: Final = ComparisonLimits(confirmed=10)
"""The limits of a page: few values are written and read, which takes most of the time of a comparison."""

_IN_LOOP: Final[Mapping[SchemaType, ComparisonLimits]] = {
    schema_type: ComparisonLimits(
        comparison_steps=budget.comparison_steps, search_steps=budget.search_steps, history_steps=60_000, is_whole=True
    )
    for schema_type, budget in QUICK_BUDGETS.items()
    if schema_type is not SchemaType.JSON  # its solver has limits of its own, which are too large for the event loop
}
"""The steps of a comparison in the event loop, by language; what needs more of them is compared anew by a judge."""

_MOST_CONFIRMED: Final = 10
"""The largest number of values that are written and read in one go in the event loop."""

_MOST_IN_LOOP_S: Final = 0.1
_MAX_ADVICE: Final = 5


@dataclass(frozen=True, slots=True)
class OperandName:
    """A version as a request names it; None is the latest."""

    subject: QualifiedSubject
    version: int | None


@dataclass(frozen=True, slots=True)
class OperandText:
    """A text that a request compares; its references are resolved in the context of ``subject``, if it has one."""

    schema: str
    schema_type: str = DEFAULT_TYPE.value
    references: tuple[Reference, ...] = ()
    subject: str = ""


OperandGiven: TypeAlias = "OperandName | OperandText"


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a comparison, with the subject whose rules count for it, and the entry of a version."""

    compared: ComparedSide
    subject: QualifiedSubject
    history: SubjectHistory
    entry: VersionEntry | None
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class _Draft:
    """A draft for a subject: the text, the rules that count for it, and the schema as it would be stored."""

    subject: QualifiedSubject
    text: OperandText
    config: Config
    history: SubjectHistory
    candidate: Candidate
    limits: ComparisonLimits


class ComparisonPages:
    """The use cases of comparisons and drafts. ``belongings`` is None for the past."""

    def __init__(
        self,
        storage: Storage,
        *,
        scopes: Scopes,
        reader: SchemaReader,
        matcher: Matcher,
        check: CompatibilityCheck,
        admission: Admission,
        gate: ConsumerGate,
        belongings: SubjectBelongings | None,
        long: LongJudgements,
        facts: DerivedFacts,
    ) -> None:
        self._storage = storage
        self._scopes = scopes
        self._reader = reader
        self._matcher = matcher
        self._check = check
        self._admission = admission
        self._gate = gate
        self._belongings = belongings
        self._long = long
        self._known = facts.comparisons

    @staticmethod
    def operand(text: str) -> OperandName:
        """Return the version that a text such as ``orders-value@3`` or ``orders-value@latest`` names.

        It is split at the last ``@``. Raises ``BadRequest``.
        """
        name, mark, version = text.rpartition("@")
        try:
            if mark:
                return OperandName(parse_subject(name), parse_version(version))
        except InvalidVersion:
            pass
        raise BadRequest(f"{text[:200]!r} names no version; expected a subject and a version, such as orders-value@3")

    async def diff(self, earlier: OperandGiven, later: OperandGiven, *, viewer: Viewer) -> SchemaComparison:
        """Return the changes between two schemas, and the verdicts without proofs."""
        return await self._compared(earlier, later, None, None, _NO_PROOFS, viewer=viewer)

    async def verdict(
        self,
        earlier: OperandGiven,
        later: OperandGiven,
        *,
        policy: CompatibilityPolicy | None = None,
        level: CompatibilityLevel | None = None,
        limits: ComparisonLimits = _WHOLE,
        viewer: Viewer,
    ) -> SchemaComparison:
        """Return two schemas compared, with proofs, under a level and a policy; by default those in force."""
        return await self._compared(earlier, later, policy, level, limits, viewer=viewer)

    async def _compared(
        self,
        earlier: OperandGiven,
        later: OperandGiven,
        policy: CompatibilityPolicy | None,
        level: CompatibilityLevel | None,
        limits: ComparisonLimits,
        *,
        viewer: Viewer,
    ) -> SchemaComparison:
        first = await self._side(_about(earlier, later), viewer=viewer)
        second = await self._side(_about(later, earlier), viewer=viewer)
        config = _what_if(await self._scopes.config(second.subject), policy, level)
        return await self._comparison(first, second, config, limits, viewer=viewer)

    # --- the sides of a comparison

    async def _side(self, given: OperandGiven, *, viewer: Viewer) -> _Side:
        return await (self._version(given, viewer) if isinstance(given, OperandName) else self._text(given, viewer))

    async def _version(self, given: OperandName, viewer: Viewer) -> _Side:
        subject = await self._scopes.aliased(given.subject)
        require_read(viewer, subject, named=given.subject)
        history = await self._storage.history(subject)
        entry = history.pick(subject, given.version, deleted=True)
        content = await self._reader.content(entry.guid)
        validation = language_for(content.schema_type).validation_to_compare
        parsed = await self._reader.parsed(subject.context, content, validation=validation)
        operand = Operand(
            str(subject),
            content.schema_type.value,
            content.text,
            entry.version,
            entry.ts,
            reference_names(subject, content),
        )
        return _Side(ComparedSide(operand, parsed), subject, history, entry, Candidate(content, parsed))

    async def _text(self, given: OperandText, viewer: Viewer) -> _Side:
        named = parse_subject(given.subject) if given.subject else TOP_LEVEL
        subject = await self._scopes.aliased(named) if given.subject else named
        if given.subject:
            require_read(viewer, subject, named=named)
        require_references(viewer, subject, given.references)
        request = SchemaRequest(given.schema, given.schema_type, given.references)
        reading = await self._reader.read(
            subject.context, request, validation=Validation.LOOKUP, normalize=False, deleted=True
        )
        history = await self._storage.history(subject) if given.subject else SubjectHistory()
        return self._draft_side(given, subject, history, reading.candidate)

    @staticmethod
    def _draft_side(
        given: OperandText, subject: QualifiedSubject, history: SubjectHistory, candidate: Candidate
    ) -> _Side:
        operand = Operand(
            given.subject and str(subject),
            candidate.content.schema_type.value,
            given.schema,
            references=reference_names(subject, candidate.content),
        )
        return _Side(ComparedSide(operand, candidate.parsed), subject, history, None, candidate)

    # --- the comparison

    async def _comparison(
        self, earlier: _Side, later: _Side, config: Config, limits: ComparisonLimits, *, viewer: Viewer
    ) -> SchemaComparison:
        before = [each for each in later.history.active if later.entry is None or each.version < later.entry.version]
        read = before[-_HISTORY_VERSIONS:]
        key = _key(earlier, later, read, config)
        found = None if key is None else self._known_comparison(key, limits)
        if found is None:
            history = await self._check.earlier(later.subject, later.candidate, read, config, is_transitive=True)
            level, policy = level_of(config), policy_of(config)
            question = ComparisonQuestion(earlier.compared, later.compared, level, policy, history)
            found = await self._found(question, limits)
            if key is not None:
                self._known.put((*key, limits), found, weight=weight_of_comparison(found) + _KEY_BYTES * len(key))
        if len(read) < len(before):
            found = replace(found, levels=tuple(map(_undecided_beyond, found.levels)))
        seq = max(earlier.history.revision, later.history.revision)
        return replace(await self._with_readers(found, later.subject, viewer=viewer), at_seq=seq)

    def _known_comparison(self, key: tuple[object, ...], limits: ComparisonLimits) -> SchemaComparison | None:
        """Return a comparison that was made before, with these limits, or with more proofs where those may be fewer."""
        found = self._known.get((*key, limits))
        return self._known.get((*key, _WHOLE)) if found is None and limits == QUICK else found

    async def _found(self, question: ComparisonQuestion, limits: ComparisonLimits) -> SchemaComparison:
        """Return a comparison: of small schemas in the event loop, if few steps suffice, or else by a judge."""
        schemas = [question.earlier.schema, question.later.schema, *(each.schema for each in question.history)]
        schema_type = question.later.schema.schema_type
        await LANGUAGE_CODE.to_compare(schema_type)
        quick = _IN_LOOP.get(schema_type)
        if quick is None or limits.confirmed > _MOST_CONFIRMED or any(map(self._reader.is_large, schemas)):
            return await self._long.run(compare_schemas, question, limits)
        if limits.witnesses or limits.confirmed:
            await LANGUAGE_CODE.to_search(schema_type)
        quick = replace(quick, witnesses=limits.witnesses, confirmed=limits.confirmed)
        try:
            return await self._long.here_in_parts(comparison_in_parts(question, quick), most_s=_MOST_IN_LOOP_S)
        except JudgementUndecided:
            return await self._long.run(compare_schemas, question, limits)

    async def _with_readers(
        self, found: SchemaComparison, subject: QualifiedSubject, *, viewer: Viewer
    ) -> SchemaComparison:
        """Return a comparison whose findings name those who read their places."""
        if self._belongings is None or not found.findings or subject == TOP_LEVEL:
            return found
        readers = await self._belongings.readers(subject, viewer=viewer)
        return replace(
            found,
            findings=tuple(
                replace(each, readers=tuple(one for one in readers if is_read_at(one, each.path)))
                for each in found.findings
            ),
        )

    # --- drafts

    async def draft(
        self,
        subject: QualifiedSubject,
        text: OperandText,
        *,
        policy: CompatibilityPolicy | None = None,
        level: CompatibilityLevel | None = None,
        limits: ComparisonLimits = _WHOLE,
        viewer: Viewer,
    ) -> DraftVerdict:
        """Return what would happen if a text were registered under a subject that the caller may read.

        ``policy`` and ``level`` count instead of those in force. ``limits`` are those of the comparison with the latest
        version.
        """
        named, subject = subject, await self._scopes.aliased(subject)
        require_read(viewer, subject, named=named)
        require_references(viewer, subject, text.references)
        terms = await self._scopes.terms(subject)
        config = _what_if(terms.config, policy, level)
        history = await self._storage.history(subject)
        empty = DraftVerdict(str(subject), text.schema_type)
        try:
            candidate = await self._candidate(subject, text, config, history)
        except InvalidSchema as error:
            return replace(empty, fault=_fault(error))
        draft = _Draft(subject, text, config, history, candidate, limits)
        found = await self._described_draft(empty, draft, viewer=viewer)
        if found.known is not None:
            return found
        try:
            check_subject(subject)
            check_registration(terms.mode, subject, with_id=False)
        except (InvalidSubject, OperationNotPermitted) as error:
            return replace(found, accepted=False, reasons=(error.message,))
        return await self._judged_draft(found, draft, viewer=viewer)

    async def _candidate(
        self, subject: QualifiedSubject, text: OperandText, config: Config, history: SubjectHistory
    ) -> Candidate:
        """Return a draft as it would be stored; raise ``InvalidSchema`` if a registration would."""
        request = SchemaRequest(text.schema, text.schema_type, text.references)
        request = await completed(request, config, history, self._reader)
        validation = Validation.LOOKUP if config.validate_new_schemas is False else Validation.STRICT
        reading = await self._reader.read(
            subject.context, request, validation=validation, normalize=bool(config.normalize), deleted=False
        )
        await check_sound(reading.candidate.parsed, config, self._reader)
        return reading.candidate

    async def _described_draft(self, empty: DraftVerdict, draft: _Draft, *, viewer: Viewer) -> DraftVerdict:
        """Return everything about a valid draft but whether it would be accepted, which a known one is."""
        subject, history, candidate = draft.subject, draft.history, draft.candidate
        warnings = await self._reader.warnings(candidate.parsed)
        match = await self._matcher.find(subject.context, candidate, history.active)
        found = replace(
            empty,
            warnings=tuple(f"{each.text} ({each.rule}, {each.place})" for each in warnings),
            canonical=candidate.content.text,
        )
        if history.latest is not None:
            earlier = await self._version(OperandName(subject, history.latest.version), viewer)
            later = self._draft_side(replace(draft.text, subject=str(subject)), subject, history, candidate)
            comparison = await self._comparison(earlier, later, draft.config, draft.limits, viewer=viewer)
            found = replace(found, comparison=comparison)
        if match is not None:
            known = VersionName(str(subject), match.entry.version, match.entry.schema_id)
            return replace(found, accepted=True, known=known)
        return replace(found, next_version=history.next_version)

    async def _judged_draft(self, found: DraftVerdict, draft: _Draft, *, viewer: Viewer) -> DraftVerdict:
        """Return a new draft with whether it would be accepted, why not, and whom it would break."""
        found = replace(found, readers=await self._broken(draft.subject, draft.candidate, viewer=viewer))
        try:
            refusal = await self._admission.refusal(draft.subject, draft.candidate, draft.history.active, draft.config)
            if refusal is not None:
                await refusal.make_messages()
        except JudgementUndecided as error:
            return replace(found, reasons=(error.message,))
        if refusal is None:
            return replace(found, accepted=True)
        shown = refusal.shown_to(viewer.may_know_application)
        return replace(found, accepted=False, reasons=shown.messages(), advice=tuple(_advice(found, draft.config)))

    async def _broken(
        self, subject: QualifiedSubject, candidate: Candidate, *, viewer: Viewer
    ) -> tuple[ReaderRow, ...]:
        """Return those who read a subject, of whom the caller may know, and whom a draft would break."""
        if self._belongings is None:
            return ()
        decision = (await self._gate.decision(subject, candidate)).shown_to(viewer.may_know_application)
        paths: dict[tuple[str, str, str], list[str]] = {}
        for each in decision.broken:
            key = (each.consumer, each.consumer_version, each.contract)
            paths.setdefault(key, []).append(each.place or each.path or WHOLE_RECORD)
        known = {
            (each.application, each.version, each.contract): each
            for each in await self._belongings.readers(subject, viewer=viewer)
        }
        return tuple(
            replace(known.get(key, ReaderRow(*key, reads=())), reads=tuple(dict.fromkeys(found)))
            for key, found in sorted(paths.items())
        )


def require_read(viewer: Viewer, subject: QualifiedSubject, *, named: QualifiedSubject) -> None:
    """Raise ``Forbidden`` unless the caller may read a subject, which the request names by itself or by an alias."""
    if not viewer.may_read(subject):
        raise viewer.denial(AccessOperation.READ, subject_resource(subject), named=subject_resource(named))


def require_references(viewer: Viewer, subject: QualifiedSubject, references: Sequence[Reference]) -> None:
    """Raise ``Forbidden`` unless the caller may read all that a text refers to."""
    for each in references:
        target = parse_subject(each.subject, context=subject.context)
        require_read(viewer, target, named=target)


_KEY_BYTES: Final = 200
"""The memory of a part of a key, such as the number and the guid of a version."""


def _key(earlier: _Side, later: _Side, history: Sequence[VersionEntry], config: Config) -> tuple[object, ...] | None:
    """Return everything that the comparison of two versions depends on besides the limits; None for a text."""
    if earlier.entry is None or later.entry is None:
        return None
    sides = [
        (str(each.subject), one.version, one.guid, one.ts)
        for each, one in ((earlier, earlier.entry), (later, later.entry))
    ]
    versions = [(each.version, each.guid) for each in history]
    return (*sides, config.compatibility_group, level_of(config), policy_of(config), *versions)


def _about(given: OperandGiven, other: OperandGiven) -> OperandGiven:
    """Return an operand; a text that names no subject is about that of the other one."""
    if isinstance(given, OperandName) or given.subject:
        return given
    return replace(given, subject=str(other.subject))


def _what_if(config: Config, policy: CompatibilityPolicy | None, level: CompatibilityLevel | None) -> Config:
    """Return a config with another policy or level, if one is given."""
    return replace(
        config,
        compatibility_policy=config.compatibility_policy if policy is None else policy.value,
        compatibility_level=level or config.compatibility_level,
    )


def _undecided_beyond(answer: LevelAnswer) -> LevelAnswer:
    """Return the answer of a level where only the newest versions were compared: the others may refuse, too."""
    is_transitive = CompatibilityLevel(answer.level).is_transitive
    return replace(answer, accepted=None) if is_transitive and answer.accepted else answer


def _fault(error: InvalidSchema) -> DraftFault:
    if not isinstance(error, SchemaParseError) or error.position is None:
        return DraftFault(error.message, pointer=error.path if isinstance(error, SchemaParseError) else "")
    return DraftFault(error.message, error.position.line, error.position.column, error.path)


def _advice(found: DraftVerdict, config: Config) -> Iterator[str]:
    """Yield what can be done about a draft that would be refused."""
    findings = () if found.comparison is None else found.comparison.findings
    policy = policy_of(config).value
    fixes = dict.fromkeys(each.fix for each in findings if each.fix and policy in each.policies)
    yield from [*fixes][:_MAX_ADVICE]
    if permits_bridged(config):
        yield "Register it together with a bridge from it to the latest version (POST /bridges/v1)"
    if is_decided_by_consumers(config) and found.readers:
        yield "Change the readers first, or have the break approved (POST /contracts/v1/approvals)"
