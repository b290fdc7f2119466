"""Whether a schema is compatible with the versions of a subject, and whether it may be registered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from counterfoil.registry.access.rights import Knows, knows_all
from counterfoil.registry.contracts.verdicts.proposals import ConsumerDecision, ConsumerGate
from counterfoil.registry.judges.judging import LongJudgements, Pauses
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Requester
from counterfoil.registry.subjects.levels import Scopes, is_decided_by_consumers, level_of, policy_of
from counterfoil.registry.subjects.reading import LANGUAGE_CODE, PARSED_AT_ONCE, SchemaReader, UnparsedSchema
from counterfoil.registry.subjects.versions import (
    Candidate,
    SchemaRequest,
    VersionEntry,
    reservation_messages,
    version_not_found,
)
from counterfoil.schema.answers import (
    CompatibilityAnswer,
    CompatibilityQuestion,
    FoundDifference,
    answer,
    differences_in,
    judged,
    messages_about,
    messages_only,
)
from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import IncompatibleSchema, InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement import Budget, Judgement
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import Metadata, SchemaType
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.rest.subjects import Config
from counterfoil.schema.rest.versions import Compatibility

# Whether a schema is compatible with the versions of a subject.

BUDGET: Final = Budget(witnesses=10)
"""The limits of a judgement beside the event loop."""

QUICK_BUDGETS: Final = {
    SchemaType.AVRO: replace(BUDGET, comparison_steps=15_000, search_steps=2_000),
    SchemaType.PROTOBUF: replace(BUDGET, comparison_steps=10_000, search_steps=5_000),
    SchemaType.JSON: replace(BUDGET, comparison_steps=3_000, search_steps=1_500),
}
"""The limits of a judgement in the event loop: some milliseconds. What needs more is judged anew beside it.

They are enough for the searches about two ordinary differences; a step of a search takes another time in each language.
"""

_MOST_IN_LOOP_S: Final = 0.1
"""The time of all comparisons of one question in the event loop; what takes longer is judged anew beside it."""

_COMPATIBLE: Final = Compatibility(is_compatible=True)


class Verdict:
    """The result of a check: what the level says, and messages about reserved names.

    ``found`` is the judgement if it was made in the event loop, or else the whole answer.
    """

    def __init__(
        self,
        found: Judgement | CompatibilityAnswer,
        *,
        question: CompatibilityQuestion,
        config: Config,
        check: CompatibilityCheck,
        reservations: tuple[str, ...] = (),
    ) -> None:
        self._found = found
        self._question = question
        self._config = config
        self._check = check
        self.reservations = reservations
        self._messages: tuple[str, ...] | None = None

    @property
    def is_compatible(self) -> bool:
        """Whether nothing was found."""
        return not self.reservations and self._is_permitted

    @property
    def _is_permitted(self) -> bool:
        """Whether the level permits it."""
        found = self._found
        return found.is_compatible if isinstance(found, CompatibilityAnswer) else found.report.is_compatible

    def differences(self) -> tuple[FoundDifference, ...]:
        """Return the differences from earlier versions."""
        found = self._found
        return found.differences if isinstance(found, CompatibilityAnswer) else differences_in(found)

    def messages(self) -> tuple[str, ...]:
        """Return what :meth:`make_messages` has made: differences with a witness each, versions, the level."""
        return self._messages or ()

    async def make_messages(self) -> None:
        """Make the message list, once; searches for witnesses that take long are made beside the event loop."""
        if self._messages is None:
            validates = "true" if self._config.validate_fields else "false"
            settings = f"{{validateFields: '{validates}', compatibility: '{level_of(self._config)}'}}"
            self._messages = (*self.reservations, *await self._found_messages(), settings)

    async def _found_messages(self) -> tuple[str, ...]:
        if isinstance(self._found, CompatibilityAnswer):
            return self._found.messages
        if self._is_permitted:
            return ()
        return await self._check.messages(self._found, self._question)


async def check_sound(parsed: ParsedSchema, config: Config, reader: SchemaReader) -> None:
    """Raise ``InvalidSchema`` where the policy is SOUND and the schema says what its own language forbids."""
    if policy_of(config) is not CompatibilityPolicy.SOUND:
        return
    warnings = await reader.warnings(parsed)
    if warnings:
        said = "; ".join(f"{each.text} ({each.rule}, {each.place})" for each in warnings)
        raise InvalidSchema(f"Invalid schema under policy {policy_of(config)}: {said}")


class CompatibilityCheck:
    """Judges a schema against stored versions."""

    def __init__(self, reader: SchemaReader, long: LongJudgements | None = None) -> None:
        self._reader = reader
        self._long = long or LongJudgements()

    async def verdict(
        self,
        subject: QualifiedSubject,
        candidate: Candidate,
        versions: Sequence[VersionEntry],
        config: Config,
        *,
        lists_differences: bool = False,
    ) -> Verdict:
        """Return the verdict on ``candidate`` against ``versions``, which are ascending, under ``config``.

        Only with ``lists_differences`` it has the differences themselves for certain.
        """
        earlier: list[Earlier] = []
        if level_of(config).directions:
            earlier = await self.earlier(
                subject, candidate, versions, config, is_transitive=level_of(config).is_transitive
            )
        question = CompatibilityQuestion(candidate.parsed, earlier, level_of(config), policy_of(config))
        reservations = await self._reservations(candidate, versions, config)
        found = await self._judged(question, answer if lists_differences else messages_only)
        return Verdict(found, question=question, config=config, check=self, reservations=reservations)

    async def messages(self, judgement: Judgement, question: CompatibilityQuestion) -> tuple[str, ...]:
        """Return the messages of a judgement that was made in the event loop; long searches are made beside it."""
        await LANGUAGE_CODE.to_search(question.candidate.schema_type)
        await asyncio.sleep(0)  # the comparison has just held the event loop
        try:
            return await self._long.here(partial(messages_about, judgement, is_whole=True))
        except JudgementUndecided:
            return (await self._long.run(messages_only, question, BUDGET)).messages

    async def _judged(
        self, question: CompatibilityQuestion, answered: Callable[[CompatibilityQuestion, Budget], CompatibilityAnswer]
    ) -> Judgement | CompatibilityAnswer:
        """Return the judgement, or the answer of one that takes long, which is made beside the event loop.

        Under SOUND, the solver of JSON Schema has limits of its own, which are too large for the event loop; large
        texts are not parsed here.
        """
        is_solved = question.policy is CompatibilityPolicy.SOUND and question.candidate.schema_type is SchemaType.JSON
        is_parsed_apart = any(
            isinstance(each, UnparsedSchema) for each in (question.candidate, *(one.schema for one in question.history))
        )
        if not is_solved and not is_parsed_apart:
            with suppress(JudgementUndecided):
                return await self._quickly_judged(question)
        return await self._long.run(answered, question, BUDGET)

    async def _reservations(
        self, candidate: Candidate, versions: Sequence[VersionEntry], config: Config
    ) -> tuple[str, ...]:
        if not config.validate_fields:
            return ()
        latest = (await self._reader.content(versions[-1].guid)).metadata if versions else None
        return reservation_messages(candidate.content.metadata, candidate.parsed.field_names(), latest=latest)

    async def _quickly_judged(self, question: CompatibilityQuestion) -> Judgement:
        """Return the judgement; raise ``JudgementUndecided`` if it takes long.

        Each version is compared by itself, so that other requests are handled between many of them: the first one that
        fails is the only one that is reported.
        """
        budget = QUICK_BUDGETS[question.candidate.schema_type]
        if len(question.history) <= 1:
            return await self._long.here(judged, question, budget)
        first, *others = [replace(question, history=[each]) for each in question.history]
        pauses = Pauses()
        judgement = await self._long.here(judged, first, budget)
        for each in others if judgement.report.is_compatible and question.level.is_transitive else ():
            await pauses.pause_if_due()
            if pauses.worked_s > _MOST_IN_LOOP_S:
                raise JudgementUndecided("There are too many versions to compare them all in the event loop")
            judgement = await self._long.here(judged, each, budget)
            if not judgement.report.is_compatible:
                break
        return judgement

    async def earlier(
        self,
        subject: QualifiedSubject,
        candidate: Candidate,
        versions: Sequence[VersionEntry],
        config: Config,
        *,
        is_transitive: bool,
    ) -> list[Earlier]:
        """Return the versions of the candidate's group that a level compares with, newest first."""
        group = _group(config, candidate.content.metadata)
        earlier = []
        for number, entry in enumerate(reversed(versions), 1):
            if number % PARSED_AT_ONCE == 0:
                await asyncio.sleep(0)
            content = await self._reader.content(entry.guid)
            if _group(config, content.metadata) != group:
                continue
            is_compared = content.schema_type is candidate.parsed.schema_type
            validation = language_for(content.schema_type).validation_to_compare if is_compared else Validation.LENIENT
            parsed = await self._reader.parsed(subject.context, content, validation=validation)
            earlier.append(Earlier(parsed, entry.version))
            if not is_transitive:
                break
        return earlier


def _group(config: Config, metadata: Metadata | None) -> str | None:
    if not config.compatibility_group or metadata is None:
        return None
    return metadata.properties.get(config.compatibility_group)


class CompatibilityTest:
    """The use case of the compatibility endpoints: check a schema without registering it."""

    def __init__(
        self,
        storage: Storage,
        *,
        scopes: Scopes,
        reader: SchemaReader,
        check: CompatibilityCheck,
        admission: Admission,
    ) -> None:
        self._storage = storage
        self._scopes = scopes
        self._reader = reader
        self._check = check
        self._admission = admission

    async def against_all(
        self,
        subject: QualifiedSubject,
        request: SchemaRequest,
        *,
        normalize: bool,
        verbose: bool,
        knows: Knows = knows_all,
    ) -> Compatibility:
        """Return the verdict that registering ``request`` now would get.

        Its messages name the applications that ``knows`` says the caller may know.
        """
        history = await self._storage.history(subject)

        async def judge(candidate: Candidate, config: Config) -> Compatibility:
            refusal = await self._admission.refusal(subject, candidate, history.active, config)
            if refusal is not None and verbose:
                await refusal.make_messages()
            return _COMPATIBLE if refusal is None else _incompatible(refusal.shown_to(knows).messages, verbose=verbose)

        return await self._test(subject, request, judge, normalize=normalize, verbose=verbose)

    async def against_version(
        self, subject: QualifiedSubject, version: int | None, request: SchemaRequest, *, normalize: bool, verbose: bool
    ) -> Compatibility:
        """Return the verdict against one version, or the latest for None; a subject without a latest takes anything."""
        history = await self._storage.history(subject)
        entry = history.find(version, deleted=False)
        if entry is None and version is not None:
            raise version_not_found(subject, version, history)
        versions = () if entry is None else (entry,)

        async def judge(candidate: Candidate, config: Config) -> Compatibility:
            verdict = await self._check.verdict(subject, candidate, versions, config)
            if not verdict.is_compatible and verbose:
                await verdict.make_messages()
            return _COMPATIBLE if verdict.is_compatible else _incompatible(verdict.messages, verbose=verbose)

        return await self._test(subject, request, judge, normalize=normalize, verbose=verbose)

    async def _test(
        self,
        subject: QualifiedSubject,
        request: SchemaRequest,
        judge: Callable[[Candidate, Config], Awaitable[Compatibility]],
        *,
        normalize: bool,
        verbose: bool,
    ) -> Compatibility:
        config = await self._scopes.config(subject)
        try:
            reading = await self._reader.read(
                subject.context,
                request,
                validation=Validation.LOOKUP if config.validate_new_schemas is False else Validation.STRICT,
                normalize=normalize or bool(config.normalize),
                deleted=False,
            )
            await check_sound(reading.candidate.parsed, config, self._reader)
        except InvalidSchema as error:
            if not verbose:
                raise
            return Compatibility(is_compatible=False, messages=(error.message,))
        return await judge(reading.candidate, config)


def _incompatible(messages: Callable[[], tuple[str, ...]], *, verbose: bool) -> Compatibility:
    return Compatibility(is_compatible=False, messages=messages() if verbose else ())


# Whether a version may be registered: what the compatibility level says, or what the consumers say.


async def _nothing_to_make() -> None:
    """Do nothing: for messages that are there."""


@dataclass(frozen=True, slots=True)
class AdmissionRefusal:
    """Why a version may not be registered: a sentence about what is wrong, and messages.

    ``decision`` is the decision about the consumers, if a gate includes them. ``make_messages`` makes the messages
    beside the event loop, before they are read.
    """

    problem: str
    messages: Callable[[], tuple[str, ...]]
    decision: ConsumerDecision | None = None
    make_messages: Callable[[], Awaitable[None]] = _nothing_to_make

    @property
    def is_of_consumers(self) -> bool:
        """Whether the consumers are against it, and not the compatibility level."""
        return self.decision is not None and not self.decision.is_undecided

    @property
    def hint(self) -> str:
        """The text that follows the messages."""
        if self.decision is None or self.is_of_consumers:
            return ""
        return f"; the level decides, and not the consumers: {self.decision.undecided}"

    def shown_to(self, knows: Knows) -> AdmissionRefusal:
        """Return it without the names of applications that a caller may not know."""
        if self.decision is None:
            return self
        shown = self.decision.shown_to(knows)
        return _of_consumers(shown) if self.is_of_consumers else replace(self, decision=shown)


class RefusedVersion(IncompatibleSchema):
    """A version of ``subject`` may not be registered; ``hint`` is what can be done about it."""

    def __init__(self, subject: QualifiedSubject, refusal: AdmissionRefusal, *, hint: str = "") -> None:
        reasons = refusal.messages()
        super().__init__(
            f"The schema {refusal.problem} subject {str(subject)!r}: [{', '.join(reasons)}]{refusal.hint}{hint}",
            reasons=reasons,
        )
        self._subject = subject
        self._refusal = refusal
        self._hint = hint

    def shown_to(self, knows: Knows) -> RefusedVersion:
        """Return the error without the names of applications that a caller may not know."""
        return RefusedVersion(self._subject, self._refusal.shown_to(knows), hint=self._hint)


class Admission:
    """Decides whether a version may be registered, apart from bridges."""

    def __init__(self, check: CompatibilityCheck, *, gate: ConsumerGate) -> None:
        self._check = check
        self._gate = gate

    async def refusal(
        self, subject: QualifiedSubject, candidate: Candidate, versions: Sequence[VersionEntry], config: Config
    ) -> AdmissionRefusal | None:
        """Return why ``candidate`` may not follow ``versions`` under ``config``; None if it may.

        Where the consumers decide, the level does so only if they cannot; reserved names are refused in any case.
        """
        verdict = await self._check.verdict(subject, candidate, versions, config)
        decision = None
        if is_decided_by_consumers(config) and not verdict.reservations:
            decision = await self._gate.decision(subject, candidate)
            if not decision.is_undecided:
                return _of_consumers(decision) if decision.broken else None
        if verdict.is_compatible:
            return None
        return AdmissionRefusal(
            "is incompatible with an earlier version of", verdict.messages, decision, verdict.make_messages
        )

    async def report(self, subject: QualifiedSubject, refusal: AdmissionRefusal, *, by: Requester) -> None:
        """Report a registration that was refused for its consumers to webhooks."""
        if refusal.decision is not None and refusal.is_of_consumers:
            await self._gate.report(subject, refusal.decision, by=by)


def _of_consumers(decision: ConsumerDecision) -> AdmissionRefusal:
    return AdmissionRefusal("breaks consumers of", lambda: decision.messages, decision)
