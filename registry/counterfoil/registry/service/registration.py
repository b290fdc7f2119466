"""Registering a schema: the checks in the order that callers observe.

Edit tags → parse as sent → find an existing version → mode → inherit and merge → parse strictly → find the same content
→ find an equivalent one → compatibility → number → write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from counterfoil.registry.domain.config import is_merged, permits_bridged
from counterfoil.registry.domain.keys.in_rules import with_key_names
from counterfoil.registry.domain.merging import stamp_of, stamped
from counterfoil.registry.domain.modes import check_registration
from counterfoil.registry.domain.rules import check_rule_set
from counterfoil.registry.domain.subjects import check_subject
from counterfoil.registry.domain.versions import check_next_version
from counterfoil.registry.service.admission import RefusedVersion
from counterfoil.registry.service.compatibility import check_sound
from counterfoil.registry.service.matching import completed
from counterfoil.registry.service.planning import SubjectState, plan_version
from counterfoil.registry.service.requests import NEXT_VERSION
from counterfoil.registry.service.tag_warnings import warn_of_tags
from counterfoil.registry.service.tagging import Tagging
from counterfoil.schema.errors import InvalidSchema, OperationNotPermitted
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.domain.versions import History, VersionEntry
    from counterfoil.registry.domain.writes.guards import Guard
    from counterfoil.registry.domain.writes.plan import Plan
    from counterfoil.registry.service.admission import Admission
    from counterfoil.registry.service.associations.index import SubjectGuard
    from counterfoil.registry.service.bridges.acceptance import BridgeAcceptance, BridgeTarget
    from counterfoil.registry.service.matching import Match, Matcher
    from counterfoil.registry.service.reading import Reading, SchemaReader
    from counterfoil.registry.service.requests import SchemaRequest
    from counterfoil.registry.service.retrying import Turns
    from counterfoil.registry.service.scopes import Scopes, Terms
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject


@dataclass(frozen=True, slots=True)
class Registered:
    """The result of a registration: id, number, content; ``entry`` is the equivalent version, if one was found."""

    schema_id: int
    version: int
    content: Content
    entry: VersionEntry | None = None


@dataclass(frozen=True, slots=True)
class _Situation:
    """The data on which one attempt is decided."""

    subject: QualifiedSubject
    terms: Terms
    history: History
    normalize: bool
    force: bool
    bridged_to: BridgeTarget | None = None


class Registration:
    """The use case of registering."""

    def __init__(
        self,
        storage: Storage,
        *,
        scopes: Scopes,
        reader: SchemaReader,
        matcher: Matcher,
        admission: Admission,
        guard: SubjectGuard,
        acceptance: BridgeAcceptance,
        turns: Turns,
    ) -> None:
        self._storage = storage
        self._scopes = scopes
        self._reader = reader
        self._matcher = matcher
        self._admission = admission
        self._guard = guard
        self._acceptance = acceptance
        self._tagging = Tagging(reader)
        self._turns = turns

    async def register(
        self, subject: QualifiedSubject, request: SchemaRequest, *, normalize: bool = False, force: bool = False
    ) -> Registered:
        """Store the schema of ``request`` under ``subject`` unless it exists there, and return its id and version.

        Raises, in this order: ``InvalidRuleSet``, ``InvalidSubject``, ``InvalidSchema``, ``OperationNotPermitted``,
        ``IncompatibleSchema``. ``force`` leaves out the compatibility check.
        """
        check_rule_set(request.rule_set)
        check_subject(subject)
        request = replace(request, rule_set=with_key_names(request.rule_set))
        attempt = partial(self._attempt, subject, request, normalize=normalize, force=force)
        return await self._turns.take(attempt, written=subject)

    async def _attempt(
        self, subject: QualifiedSubject, request: SchemaRequest, *, normalize: bool, force: bool
    ) -> Registered:
        found = await self._plan(subject, request, normalize=normalize, force=force)
        if isinstance(found, Registered):
            return found
        [put] = found.new_versions
        [(schema_id, version)] = (await self._storage.commit(found)).registered
        self._reader.keep(put.content)
        return Registered(schema_id, version, put.content)

    async def plan(
        self,
        subject: QualifiedSubject,
        request: SchemaRequest,
        *,
        normalize: bool = False,
        bridged_to: BridgeTarget | None = None,
    ) -> Registered | Plan:
        """Decide as :meth:`register` without storing: return the write plan for a schema that does not exist yet.

        ``bridged_to`` is the target of a bridge from this schema, which is stored in the same write.
        """
        check_rule_set(request.rule_set)
        check_subject(subject)
        return await self._plan(subject, request, normalize=normalize, force=False, bridged_to=bridged_to)

    async def _plan(
        self,
        subject: QualifiedSubject,
        request: SchemaRequest,
        *,
        normalize: bool,
        force: bool,
        bridged_to: BridgeTarget | None = None,
    ) -> Registered | Plan:
        terms = await self._scopes.terms(subject)
        history = await self._storage.history(subject)
        normalize = (normalize or bool(terms.config.normalize)) and not terms.mode.takes_ids
        now = _Situation(subject, terms, history, normalize, force, bridged_to)
        asked = await self._tagging.edited(subject.context, request)
        is_edited = bool(asked.tag_edit or asked.propagates_tags or is_merged(terms.config))
        sent = await self._read_as_sent(now, asked, is_edited=is_edited)
        compared = None if is_edited else sent
        if compared is not None:
            there = await self._already_there(now, asked, compared.candidate)
            if there is not None:
                return there
        check_registration(terms.mode, subject, with_id=asked.schema_id is not None)
        request = asked if terms.mode.takes_ids else await self._inherit(now, asked)
        if sent is not None and request is asked and sent.validation is Validation.STRICT and not sent.targets:
            reading = sent  # no other validation could refuse it
        else:
            reading = await self._read(now, request)
        await self._guard.check_targets(subject, reading.targets)
        if not terms.mode.takes_ids:
            await check_sound(reading.candidate.parsed, terms.config, self._reader)
        if compared is None or compared.candidate.content != reading.candidate.content:
            there = await self._same_content(now, request, reading.candidate)
            if there is not None:
                return there
        guard = await self._check_compatible(now, reading.candidate)
        plan = await self._plan_version(now, request, reading)
        return plan if guard is None else replace(plan, guards=(*plan.guards, guard))

    async def _read_as_sent(self, now: _Situation, request: SchemaRequest, *, is_edited: bool) -> Reading | None:
        """Return the schema as it was sent, None without a text.

        An invalid text is refused before the mode is checked: by the rules of look-ups, and by those of imports in a
        mode that takes ids and where tags or metadata are added, since such a schema is not looked up.
        """
        if request.is_blank:
            return None
        validation = Validation.LENIENT if is_edited or now.terms.mode.takes_ids else Validation.LOOKUP
        return await self._reader.read(
            now.subject.context, request, validation=validation, normalize=now.normalize, deleted=True
        )

    async def _already_there(self, now: _Situation, request: SchemaRequest, candidate: Candidate) -> Registered | None:
        """Return the active version with the schema as it was sent; this is checked before modes and levels."""
        match = await self._matcher.find(now.subject.context, candidate, _wanted(now.history, request))
        if match is None:
            return None
        is_same = match.exact and request.version != NEXT_VERSION  # the next version would have a version property
        return _registered(replace(match, exact=is_same))

    async def _inherit(self, now: _Situation, request: SchemaRequest) -> SchemaRequest:
        """Return ``request`` with missing parts filled in, and with the version property if it was requested."""
        latest = now.history.latest
        if request.is_blank:
            if latest is None:
                raise InvalidSchema(
                    f"The schema is empty, and subject {str(now.subject)!r} has no version to take it from"
                )
            content = await self._reader.content(latest.guid)
            request = replace(
                request, text=content.text, schema_type=content.schema_type.value, references=content.references
            )
        if request.propagates_tags and latest is not None:
            held = await self._reader.content(latest.guid)
            request = await self._tagging.propagated(now.subject.context, request, held)
        request = await completed(request, now.terms.config, now.history, self._reader)
        if request.version is not None or request.tag_edit or stamp_of(request.metadata) is not None:
            number = _number(now, request)
            request = replace(request, metadata=stamped(request.metadata, number))
        return request

    async def _read(self, now: _Situation, request: SchemaRequest) -> Reading:
        with_id = request.schema_id is not None
        validation = Validation.STRICT
        if with_id:
            validation = Validation.LENIENT
        elif now.terms.config.validate_new_schemas is False:
            validation = Validation.LOOKUP  # defaults are not checked, and references are
        return await self._reader.read(
            now.subject.context,
            request,
            validation=validation,
            normalize=now.normalize,
            deleted=with_id,
        )

    async def _same_content(self, now: _Situation, request: SchemaRequest, candidate: Candidate) -> Registered | None:
        """Return the version with the schema as it would be stored.

        A version that was requested by its number is a new one, except in an import.
        """
        if request.version is not None and not now.terms.mode.takes_ids:
            return None
        match = await self._matcher.find(now.subject.context, candidate, _wanted(now.history, request))
        return None if match is None else _registered(match)

    async def _check_compatible(self, now: _Situation, candidate: Candidate) -> Guard | None:
        """Raise ``IncompatibleSchema`` unless the schema may be registered.

        Return the guard of the bridge if it may only because of one that is stored.
        """
        if now.force or now.terms.mode.takes_ids:
            return None
        refusal = await self._admission.refusal(now.subject, candidate, now.history.active, now.terms.config)
        if refusal is None:
            return None
        hint = ""
        if permits_bridged(now.terms.config):
            latest = now.history.latest
            if now.bridged_to is not None and now.bridged_to.accepts(now.subject, latest):
                return None
            guard = await self._acceptance.guard(now.subject, candidate.content, latest)
            if guard is not None:
                return guard
            hint = "; it can be registered together with a bridge from it to the latest version (POST /bridges/v1)"
        await self._admission.report(now.subject, refusal)
        await refusal.make_messages()
        raise RefusedVersion(now.subject, refusal, hint=hint)

    async def _plan_version(self, now: _Situation, request: SchemaRequest, reading: Reading) -> Plan:
        content = reading.candidate.content
        version = _number(now, request)
        if now.terms.mode.takes_ids:
            held = now.history.find(version, deleted=True)
            if held is not None and (held.guid, held.schema_id) != (content.guid, request.schema_id):
                raise OperationNotPermitted(
                    f"Version {version} of subject {str(now.subject)!r} holds another schema; versions are immutable"
                )
        else:
            check_next_version(now.subject, now.history, version)
        await warn_of_tags(now.subject, reading.candidate, self._reader)
        return await plan_version(
            self._storage,
            SubjectState(now.subject, now.history, now.terms.settings_revision),
            content,
            targets=reading.targets,
            schema_id=request.schema_id,
            version=version,
        )


def _number(now: _Situation, request: SchemaRequest) -> int:
    if request.version is None or request.version == NEXT_VERSION:
        return now.history.next_version
    return request.version


def _wanted(history: History, request: SchemaRequest) -> Sequence[VersionEntry]:
    """Return the active versions with the requested id and number, so that a repeated import adds none.

    One content may have several ids in a subject. A request for the next version is compared with the latest alone.
    """
    entries = history.active[-1:] if request.version == NEXT_VERSION else history.active
    if request.schema_id is None and (request.version is None or request.version == NEXT_VERSION):
        return entries
    return [entry for entry in entries if _has_numbers(entry, request)]


def _has_numbers(entry: VersionEntry, request: SchemaRequest) -> bool:
    if request.version in {None, NEXT_VERSION}:
        return request.schema_id in {None, entry.schema_id}
    return (request.schema_id, request.version) == (entry.schema_id, entry.version)


def _registered(match: Match) -> Registered:
    entry = None if match.exact else match.entry
    return Registered(match.entry.schema_id, match.entry.version, match.content, entry)
