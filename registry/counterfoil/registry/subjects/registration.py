"""Registering a schema: the checks in the order that callers observe; changing the tags of a version."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from counterfoil.registry.access.rights import Shown, everything
from counterfoil.registry.associations.records import SubjectGuard
from counterfoil.registry.bridges.records import BridgeAcceptance, BridgeTarget
from counterfoil.registry.inspection.refusals import RefusalLog
from counterfoil.registry.keys.records import with_key_names
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Guard, Requester, StoragePlan
from counterfoil.registry.subjects.catalog import Catalog
from counterfoil.registry.subjects.compatibility import Admission, RefusedVersion, check_sound
from counterfoil.registry.subjects.levels import Scopes, ScopeTerms, check_registration, is_merged, permits_bridged
from counterfoil.registry.subjects.planning import SubjectState, plan_version
from counterfoil.registry.subjects.reading import Match, Matcher, ParsedRequest, SchemaReader, completed
from counterfoil.registry.subjects.versions import (
    NEXT_VERSION,
    Candidate,
    Content,
    SchemaRequest,
    SubjectHistory,
    VersionEntry,
    check_next_version,
    check_rule_set,
    check_subject,
    merge_rule_sets,
    stamp_of,
    stamped,
    without_rules,
)
from counterfoil.schema.answers import TagsAsked, tags_without_effect
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import (
    CounterfoilError,
    IncompatibleSchema,
    InvalidRuleSet,
    InvalidSchema,
    OperationNotPermitted,
)
from counterfoil.schema.marks import TagEdit
from counterfoil.schema.model import Metadata, Rule, RuleSet
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.tags import edit_tags, find_tags

# Tags inside a schema that is being registered: requested edits, and tags copied from the latest version.


class Tagging:
    """Tags as part of a registration."""

    def __init__(self, reader: SchemaReader) -> None:
        self._reader = reader

    async def edited(self, context: str, request: SchemaRequest) -> SchemaRequest:
        """Return ``request`` with its tag edits applied to the text; raise ``InvalidSchema`` for an unknown place."""
        if request.tag_edit is None:
            return request
        if request.is_blank:
            raise InvalidSchema("The schema is empty; expected the schema text whose tags are to be changed")
        parsed = await self._parsed(context, request)
        return replace(request, text=await self._reader.about(parsed, edit_tags, request.tag_edit))

    async def propagated(self, context: str, request: SchemaRequest, latest: Content | None) -> SchemaRequest:
        """Return ``request`` with the tags of ``latest`` on the parts that both have, if the request says so."""
        if not request.propagates_tags or latest is None or latest.schema_type.value != request.schema_type:
            return request
        parsed = await self._parsed(context, request)
        known = {entity for entity, _ in await self._reader.about(parsed, find_tags)}
        carried = await self._reader.about(await self._reader.parsed(context, latest), find_tags)
        edit = TagEdit(add={entity: tags for entity, tags in carried if tags and entity in known})
        return replace(request, text=await self._reader.about(parsed, edit_tags, edit)) if edit.add else request

    async def _parsed(self, context: str, request: SchemaRequest) -> ParsedSchema:
        reading = await self._reader.read(
            context, request, validation=Validation.LENIENT, normalize=False, deleted=False
        )
        return reading.candidate.parsed


# Warnings in the log about a new version with tags that mark what no rule changes, or that mark nothing.

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_MOST: Final = 5
_QUICK: Final = 20_000
"""Paths times characters of the schema that are examined in the event loop, in some milliseconds."""

_LONGEST: Final = 2_000_000
"""Those that are examined at all, in about a second: a warning must not keep a registration waiting for longer."""
_ENCRYPT: Final = "ENCRYPT"
_ONE_WAY: Final[Mapping[str, str]] = {
    "WRITE": "WRITE, so that readers get ciphertext; expected WRITEREAD",
    "READ": "READ, so that writers leave plain text; expected WRITEREAD",
}


def _type_of(rule: Rule) -> str:
    return (rule.type or "").upper()


async def warn_of_tags(subject: QualifiedSubject, candidate: Candidate, reader: SchemaReader) -> None:
    """Log, for a schema that is to be registered, the tags of its rules that mark what field rules do not reach.

    So are rules that encrypt in one direction only, tags of rules ENCRYPT that mark what cannot be encrypted, and paths
    of its metadata that name no field; many of them are examined beside the event loop, and of too many the log says
    that they were not examined. The version is registered all the same: Confluent's registries accept it, and
    serializers refuse to encrypt.
    """
    content = candidate.content
    rules = content.rule_set.domain_rules if content.rule_set is not None else ()
    asked = TagsAsked(
        by_path=content.metadata.tags if content.metadata is not None else {},
        of_rules=frozenset(tag for rule in rules for tag in rule.tags),
        encrypted=frozenset(tag for rule in rules if _type_of(rule) == _ENCRYPT for tag in rule.tags),
        most=_MOST,
    )
    for rule in content.rule_set.rules if content.rule_set is not None else ():
        if _type_of(rule).startswith(_ENCRYPT) and rule.mode in _ONE_WAY:
            extra = {"subject": str(subject), "cause": f"the rule {rule.name!r} has the mode {_ONE_WAY[rule.mode]}"}
            _LOGGER.warning("a rule encrypts in one direction only", extra=extra)
    if not asked.of_rules and not asked.by_path:
        return
    parsed = candidate.parsed
    cost = (1 + len(asked.by_path)) * (len(parsed.text) + parsed.referenced_chars)
    if cost > _LONGEST:
        count = {"subject": str(subject), "count": len(asked.by_path)}
        _LOGGER.warning("too many paths of tags to examine which of them name nothing", extra=count)
        return
    try:
        if cost > _QUICK and asked.by_path:
            found = await reader.beside(tags_without_effect, parsed, asked)
        else:
            found = await reader.about(parsed, tags_without_effect, asked)
    except CounterfoilError:
        return  # what cannot be described is refused when it is written
    for text, causes in found.items():
        for cause in causes:
            _LOGGER.warning(text, extra={"subject": str(subject), "cause": cause})


# Registering a schema: the checks in the order that callers observe.
#
# Edit tags → parse as sent → find an existing version → mode → inherit and merge → parse strictly → find the same
# content → find an equivalent one → compatibility → number → write.


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
    terms: ScopeTerms
    history: SubjectHistory
    normalize: bool
    force: bool
    bridged_to: BridgeTarget | None = None


class SchemaRegistration:
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
        turns: WriteTurns,
        refusals: RefusalLog,
    ) -> None:
        self._refusals = refusals
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
        self,
        subject: QualifiedSubject,
        request: SchemaRequest,
        *,
        by: Requester,
        normalize: bool = False,
        force: bool = False,
    ) -> Registered:
        """Store the schema of ``request`` under ``subject`` unless it exists there, and return its id and version.

        Raises, in this order: ``InvalidRuleSet``, ``InvalidSubject``, ``InvalidSchema``, ``OperationNotPermitted``,
        ``IncompatibleSchema``. ``force`` leaves out the compatibility check.
        """
        check_rule_set(request.rule_set)
        check_subject(subject)
        if request.rule_set is not None:
            request = replace(request, rule_set=with_key_names(request.rule_set))
        attempt = partial(self._attempt, subject, request, normalize=normalize, force=force, by=by)
        try:
            return await self._turns.take(attempt, written=subject)
        except (IncompatibleSchema, InvalidSchema) as error:
            await self._refusals.note(subject, request, error, by=by)
            raise

    async def _attempt(
        self, subject: QualifiedSubject, request: SchemaRequest, *, by: Requester, normalize: bool, force: bool
    ) -> Registered:
        found = await self._plan(subject, request, normalize=normalize, force=force, by=by)
        if isinstance(found, Registered):
            return found
        [put] = found.new_versions
        [(schema_id, version)] = (await self._storage.commit(found, by=by)).registered
        self._reader.keep(put.content)
        return Registered(schema_id, version, put.content)

    async def plan(
        self,
        subject: QualifiedSubject,
        request: SchemaRequest,
        *,
        by: Requester,
        normalize: bool = False,
        bridged_to: BridgeTarget | None = None,
    ) -> Registered | StoragePlan:
        """Decide as :meth:`register` without storing: return the write plan for a schema that does not exist yet.

        ``bridged_to`` is the target of a bridge from this schema, which is stored in the same write.
        """
        check_rule_set(request.rule_set)
        check_subject(subject)
        return await self._plan(subject, request, normalize=normalize, force=False, bridged_to=bridged_to, by=by)

    async def _plan(
        self,
        subject: QualifiedSubject,
        request: SchemaRequest,
        *,
        by: Requester,
        normalize: bool,
        force: bool,
        bridged_to: BridgeTarget | None = None,
    ) -> Registered | StoragePlan:
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
        if reading.targets:
            await self._guard.check_targets(subject, reading.targets)
        if not terms.mode.takes_ids:
            await check_sound(reading.candidate.parsed, terms.config, self._reader)
        if compared is None or compared.candidate.content != reading.candidate.content:
            there = await self._same_content(now, request, reading.candidate)
            if there is not None:
                return there
        guard = await self._check_compatible(now, reading.candidate, by=by)
        plan = await self._plan_version(now, request, reading)
        return plan if guard is None else replace(plan, guards=(*plan.guards, guard))

    async def _read_as_sent(self, now: _Situation, request: SchemaRequest, *, is_edited: bool) -> ParsedRequest | None:
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

    async def _read(self, now: _Situation, request: SchemaRequest) -> ParsedRequest:
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

    async def _check_compatible(self, now: _Situation, candidate: Candidate, *, by: Requester) -> Guard | None:
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
        await self._admission.report(now.subject, refusal, by=by)
        await refusal.make_messages()
        raise RefusedVersion(now.subject, refusal, hint=hint)

    async def _plan_version(self, now: _Situation, request: SchemaRequest, reading: ParsedRequest) -> StoragePlan:
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


def _wanted(history: SubjectHistory, request: SchemaRequest) -> Sequence[VersionEntry]:
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


# Changing tags, metadata or rules of a version, which makes a new version.


@dataclass(frozen=True, slots=True)
class TagRequest:
    """What to change in a version: tags, metadata and rules; metadata and rules that are None are not changed.

    ``new_version``, if given, must be the number after the latest one.
    """

    edit: TagEdit = field(default_factory=TagEdit)
    new_version: int | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    rules_to_merge: RuleSet | None = None
    rules_to_remove: tuple[str, ...] = ()


class TagVersion:
    """The use case of changing the tags of a version, which makes a new one."""

    def __init__(self, storage: Storage, *, registration: SchemaRegistration, catalog: Catalog) -> None:
        self._storage = storage
        self._registration = registration
        self._catalog = catalog

    async def tag(
        self,
        subject: QualifiedSubject,
        version: int | None,
        request: TagRequest,
        *,
        by: Requester,
        shown: Shown = everything,
    ) -> Registered:
        """Make a new version of ``version`` (None: the latest) with other tags, and return it.

        The version may be one of another context with the same name, if that is ``shown`` to the caller.
        Raises, in this order: ``SubjectNotFound``, ``VersionNotFound``, ``InvalidRuleSet`` if rules are given in two
        ways, ``InvalidSchema`` for an unknown place, and the errors of a registration. ``new_version`` that is not the
        next one is ``InvalidSchema`` as well, after compatibility, and in place of what the mode forbids.
        """
        stored = (await self._catalog.version(subject, version, deleted=False, shown=shown)).content
        if request.rule_set is not None and (request.rules_to_merge is not None or request.rules_to_remove):
            raise InvalidRuleSet("ruleSet goes with neither rulesToMerge nor rulesToRemove; expected one or the other")
        check_rule_set(request.rules_to_merge)
        registered = SchemaRequest(
            text=stored.text,
            schema_type=stored.schema_type.value,
            references=stored.references,
            metadata=stored.metadata if request.metadata is None else request.metadata,
            rule_set=await self._rule_set(subject, request, stored, shown=shown),
            version=request.new_version,
            tag_edit=request.edit,
            is_complete=True,
        )
        try:
            return await self._registration.register(subject, registered, by=by)
        except OperationNotPermitted:
            if request.new_version is not None and request.new_version != NEXT_VERSION:
                check_next_version(subject, await self._storage.history(subject), request.new_version)
            raise

    async def _rule_set(
        self, subject: QualifiedSubject, request: TagRequest, stored: Content, *, shown: Shown
    ) -> RuleSet | None:
        """Merge rules into those of the version before the new one, or replace them by a whole rule set."""
        if request.rule_set is not None:
            return request.rule_set
        if request.rules_to_merge is None and not request.rules_to_remove:
            return stored.rule_set
        before = None if request.new_version is None else request.new_version - 1
        under = (await self._catalog.version(subject, before, deleted=False, shown=shown)).content.rule_set
        merged = under
        if request.rules_to_merge is not None:
            merged = request.rules_to_merge if under is None else merge_rule_sets(under, request.rules_to_merge)
        return None if merged is None else without_rules(merged, request.rules_to_remove)
