"""Whether a schema is compatible with the versions of a subject."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.config import level_of, policy_of
from counterfoil.registry.domain.reserved import reservation_messages
from counterfoil.registry.domain.versions import version_not_found
from counterfoil.registry.service.admission import knows_all
from counterfoil.registry.service.judging import JudgementThreads
from counterfoil.registry.service.reading import PARSED_AT_ONCE
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.judgement.judge import Budget, judge
from counterfoil.schema.judgement.messages import confluent_messages
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.versions import Compatibility

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.domain.versions import VersionEntry
    from counterfoil.registry.service.admission import Admission, Knows
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.requests import SchemaRequest
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.judgement.judge import Judgement
    from counterfoil.schema.model import Metadata
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.rest.config import Config

_BUDGET: Final = Budget(witnesses=10)
_QUICK_BUDGET: Final = replace(_BUDGET, comparison_steps=10_000)
"""The limits of a judgement in the event loop: a few milliseconds. What needs more is judged anew in a thread."""

_MANY_VERSIONS: Final = 50
"""A check against more versions takes so long that other requests must be handled in between."""


_COMPATIBLE: Final = Compatibility(is_compatible=True)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check: the judgement of the kernel, and messages about reserved names.

    Its messages have witnesses, whose searches take long: they are made in ``threads``.
    """

    judgement: Judgement
    config: Config
    threads: JudgementThreads
    reservations: tuple[str, ...] = ()
    _messages: list[tuple[str, ...]] = field(default_factory=list, compare=False, repr=False)

    @property
    def is_compatible(self) -> bool:
        """Whether nothing was found."""
        return self.judgement.report.is_compatible and not self.reservations

    def messages(self) -> tuple[str, ...]:
        """Return the message list of an incompatible verdict: differences with a witness each, versions, the level.

        It is made once.
        """
        if not self._messages:
            self._messages.append(self._made_messages())
        return self._messages[0]

    async def make_messages(self) -> None:
        """Make the message list, beside the event loop."""
        if not self._messages:
            self._messages.append(await self.threads.run(self._made_messages))

    def _made_messages(self) -> tuple[str, ...]:
        validates = "true" if self.config.validate_fields else "false"
        settings = f"{{validateFields: '{validates}', compatibility: '{level_of(self.config)}'}}"
        found = confluent_messages(self.judgement.report, witnesses=self.judgement.witnesses())
        return (*self.reservations, *found, settings)


def check_sound(parsed: ParsedSchema, config: Config) -> None:
    """Raise ``InvalidSchema`` where the policy is SOUND and the schema says what its own language forbids."""
    if policy_of(config) is not CompatibilityPolicy.SOUND:
        return
    warnings = parsed.warnings()
    if warnings:
        said = "; ".join(
            f"{each.text} ({each.rule}, {parsed.locate(each.pointer) or 'in a reference'})" for each in warnings
        )
        raise InvalidSchema(f"Invalid schema under policy {policy_of(config)}: {said}")


class CompatibilityCheck:
    """Judges a schema against stored versions."""

    def __init__(self, reader: SchemaReader, threads: JudgementThreads | None = None) -> None:
        self._reader = reader
        self._threads = threads or JudgementThreads()

    async def verdict(
        self, subject: QualifiedSubject, candidate: Candidate, versions: Sequence[VersionEntry], config: Config
    ) -> Verdict:
        """Return the verdict on ``candidate`` against ``versions``, which are ascending, under ``config``."""
        earlier: list[Earlier] = []
        if level_of(config).directions:
            earlier = await self._earlier(subject, candidate, versions, config)
        check = partial(judge, candidate.parsed, earlier, level_of(config), policy=policy_of(config))
        judgement = await self._judged(check, earlier, config)
        return Verdict(judgement, config, self._threads, await self._reservations(candidate, versions, config))

    async def _judged(self, check: Callable[..., Judgement], earlier: Sequence[Earlier], config: Config) -> Judgement:
        """Return the judgement; a long one is made beside the event loop, and so is each under SOUND."""
        if len(earlier) <= _MANY_VERSIONS and policy_of(config) is not CompatibilityPolicy.SOUND:
            with suppress(JudgementUndecided):
                return check(budget=_QUICK_BUDGET)
        return await self._threads.run(partial(check, budget=_BUDGET))

    async def _reservations(
        self, candidate: Candidate, versions: Sequence[VersionEntry], config: Config
    ) -> tuple[str, ...]:
        if not config.validate_fields:
            return ()
        latest = (await self._reader.content(versions[-1].guid)).metadata if versions else None
        return reservation_messages(candidate.content.metadata, candidate.parsed.field_names(), latest=latest)

    async def _earlier(
        self, subject: QualifiedSubject, candidate: Candidate, versions: Sequence[VersionEntry], config: Config
    ) -> list[Earlier]:
        """Return the versions that the level compares with, newest first."""
        group = _group(config, candidate.content.metadata)
        earlier = []
        for number, entry in enumerate(reversed(versions), 1):
            if number % PARSED_AT_ONCE == 0:
                await asyncio.sleep(0)
            content = await self._reader.content(entry.guid)
            if _group(config, content.metadata) != group:
                continue
            is_compared = content.schema_type is candidate.parsed.schema_type
            validation = format_for(content.schema_type).validation_to_compare if is_compared else Validation.LENIENT
            parsed = await self._reader.parsed(subject.context, content, validation=validation)
            earlier.append(Earlier(parsed, entry.version))
            if not level_of(config).is_transitive:
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
            check_sound(reading.candidate.parsed, config)
        except InvalidSchema as error:
            if not verbose:
                raise
            return Compatibility(is_compatible=False, messages=(error.message,))
        return await judge(reading.candidate, config)


def _incompatible(messages: Callable[[], tuple[str, ...]], *, verbose: bool) -> Compatibility:
    return Compatibility(is_compatible=False, messages=messages() if verbose else ())
