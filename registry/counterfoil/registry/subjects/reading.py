"""Stored schemas as parsed values, each parsed once, and finding a schema among the versions of a subject."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Lock, Thread
from typing import Any, Final, TypeVar
from uuid import UUID

from counterfoil.registry.judges.judging import JudgementThreads, LongJudgements
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import ReferenceTarget, StaleWrite
from counterfoil.registry.subjects.versions import (
    Candidate,
    Content,
    SchemaRequest,
    SubjectHistory,
    VersionEntry,
    make_content,
    may_match,
    merged_metadata,
    merged_rule_set,
    parse_schema_type,
)
from counterfoil.schema.answers import (
    CompatibilityQuestion,
    PlacedWarning,
    SchemaSummary,
    are_equivalent,
    judged,
    messages_about,
    normalized_text,
    placed_warnings,
    summary_of,
)
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import InvalidSchema, StoreUnavailable
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.judgement import Budget, Judgement
from counterfoil.schema.languages.table import language_for, parse_schema
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.parsed import ParsedSchema, SchemaSource, SchemaWarning, Validation
from counterfoil.schema.paths import FieldPath, PathTarget
from counterfoil.schema.rest.subjects import Config
from counterfoil.schema.texts import Pointer, Position

# Loading the code of the schema languages beside the event loop, when each is first needed.
#
# Its modules and the decoders of other packages take up to a tenth of a second each to be imported. In the event loop,
# all other requests would wait for that; a thread lets them go on.

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_EXAMPLES: Final[Mapping[SchemaType, tuple[str, str]]] = {
    SchemaType.AVRO: ('"int"', '"string"'),
    SchemaType.PROTOBUF: (
        'syntax = "proto3"; message Example { int32 field = 1; }',
        'syntax = "proto3"; message Example { string field = 1; }',
    ),
    SchemaType.JSON: ('{"type": "integer"}', '{"type": "string"}'),
}
"""Two versions of a schema, of which the second cannot read the first: comparing them needs the code of a language."""


class LanguageCode:
    """The code that this process has loaded: once, for whichever event loop and thread needs it first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: dict[Callable[[SchemaType], object], dict[SchemaType, Future[None]]] = {}

    async def to_compare(self, schema_type: SchemaType) -> None:
        """Return when the code that parses, prints and compares schemas of a language is loaded."""
        await self._once(_compared, schema_type)

    async def to_search(self, schema_type: SchemaType) -> None:
        """Return when the code that searches for witnesses is loaded, too, with the decoders that it needs."""
        await self._once(_searched, schema_type)

    async def _once(self, work: Callable[[SchemaType], object], schema_type: SchemaType) -> None:
        by_type = self._loaded.setdefault(work, {})
        done = by_type.get(schema_type)
        if done is None:
            with self._lock:
                done = by_type.get(schema_type)
                if done is None:
                    done = by_type[schema_type] = Future()
                    loading = Thread(target=_carry_out, args=(work, schema_type, done), daemon=True)
                    loading.start()
        if not done.done():
            await asyncio.wrap_future(done)


LANGUAGE_CODE: Final = LanguageCode()
"""That of this process: modules are loaded once for all registries in it."""


def _carry_out(work: Callable[[SchemaType], object], schema_type: SchemaType, done: Future[None]) -> None:
    """Load code; if that fails, it fails again where the code is used, with an error that belongs to the request."""
    try:
        work(schema_type)
    except Exception as error:  # noqa: BLE001 - an uncaught one would be a traceback of this thread on standard error
        _LOGGER.info("the code of %s could not be loaded in advance: %s: %s", schema_type, type(error).__name__, error)
    finally:
        done.set_result(None)


def _compared(schema_type: SchemaType) -> Judgement:
    earlier, candidate = (parse_schema(text, schema_type) for text in _EXAMPLES[schema_type])
    candidate.canonical()
    question = CompatibilityQuestion(candidate, [Earlier(earlier)], CompatibilityLevel.FULL, CompatibilityPolicy.STRICT)
    return judged(question, Budget(witnesses=1))


def _searched(schema_type: SchemaType) -> tuple[str, ...]:
    return messages_about(_compared(schema_type))


# Schemas with large texts: a judge parses them, and this process has its answers about them alone.


class UnparsedSchema(ParsedSchema):
    """A schema that is known to be valid, and that this process has not parsed; it crosses to a judge as its source.

    Its summary answers what each request needs. Everything else parses the text here, once: that is right for work
    outside of the event loop, and for an answer that is needed rarely.
    """

    def __init__(self, source: SchemaSource, summary: SchemaSummary) -> None:
        self.source = source
        self.schema_type = source.schema_type
        self.text = source.text
        self.referenced_chars = sum(len(each.text) for each in source.references)
        self._summary = summary

    @cached_property
    def whole(self) -> ParsedSchema:
        """The schema, parsed in this process."""
        source = self.source
        assert source is not None  # noqa: S101 - it was made of one
        return parse_schema(source.text, source.schema_type, references=source.references, validation=source.validation)

    @property
    def name(self) -> str | None:
        """The full name of the top-level type."""
        return self._summary.name

    def canonical(self) -> str:
        """Return the canonical text."""
        return self._summary.canonical

    def field_names(self) -> Sequence[str]:
        """Return the names of the top-level fields."""
        return self._summary.field_names

    @property
    def stands_alone(self) -> bool:
        """Whether the text alone says what the schema is."""
        return self.whole.stands_alone

    def normalized(self) -> str:
        """Return the normalised text."""
        return self.whole.normalized()

    def formatted(self, form: str) -> str | None:
        """Return the text in another form."""
        return self.whole.formatted(form)

    def is_equivalent(self, other: ParsedSchema) -> bool:
        """Return whether the two schemas are equal except for the order of attributes."""
        return self.whole.is_equivalent(other.whole if isinstance(other, UnparsedSchema) else other)

    def warnings(self) -> Sequence[SchemaWarning]:
        """Return the violations of the language's specification."""
        return self.whole.warnings()

    def locate(self, pointer: Pointer) -> Position | None:
        """Return the position in the text of a JSON pointer."""
        return self.whole.locate(pointer)

    def path_at(self, pointer: Pointer) -> FieldPath:
        """Return the field path of the element at a JSON pointer."""
        return self.whole.path_at(pointer)

    def target_of(self, path: FieldPath) -> PathTarget:
        """Return the target of a field path."""
        return self.whole.target_of(path)

    def __getattr__(self, name: str) -> Any:
        """Return what only the schemas of one language have."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.whole, name)


# Reading schemas: resolving references, and caching parsed texts and contents.

_T = TypeVar("_T")

PARSED_AT_ONCE: Final = 8
"""After so many schemas of a long history, other requests are handled before the next are parsed."""

LARGE_CHARS: Final = 8 * 1024
"""The characters of a text, with its references, that takes so long that it is parsed beside the event loop."""

MAX_TEXTS: Final = 1024
"""The largest number of such texts that are parsed or wait for it."""

_PAST_CHARS: Final = 16 * 1024 * 1024
"""The characters of contents that one request for an earlier moment keeps in memory."""

_MAX_REFERENCE_DEPTH: Final = 100
_LATEST: Final = -1
_SHOWN_VERSIONS: Final = 10
_ENTRY_CHARS: Final = 200
"""The memory of a cached schema besides its text, in characters."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """A request's references: as they are stored, the versions that they refer to, and the texts of these."""

    references: tuple[Reference, ...] = ()
    targets: tuple[ReferenceTarget, ...] = ()
    resolved: tuple[ResolvedReference, ...] = ()

    @property
    def chars(self) -> int:
        """The number of characters of all these texts."""
        return sum(len(each.text) for each in self.resolved)


_NO_REFERENCES: Final = Resolution()
_NOTHING_KNOWN: Final = SchemaSummary("", None, ())


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A parsed request: the schema, the versions it refers to, and the strictest validation that it passes."""

    candidate: Candidate
    targets: tuple[ReferenceTarget, ...]
    validation: Validation


class SchemaReader:
    """Parses schemas of requests and stored schemas; large ones beside the event loop, so that other requests go on.

    ``memory_chars`` limits the cached parsed schemas and contents, counted in characters of text. ``large`` is the
    queue of large texts; callers take turns there. Where judges are processes, a large text is parsed there alone, and
    this process knows its summary.
    """

    def __init__(self, storage: Storage, *, memory_chars: int, large: LongJudgements | None = None) -> None:
        self._storage = storage
        self._large = large or LongJudgements(JudgementThreads(at_once=1), max_waiting=MAX_TEXTS, most_of_caller=0)
        self._contents: RecentValues[UUID, Content] = RecentValues(memory_chars)
        self._parsed: RecentValues[tuple[object, ...], ParsedSchema] = RecentValues(memory_chars)

    def over(self, storage: Storage) -> SchemaReader:
        """Return a reader of another storage with the same contents, which shares the caches of this one."""
        other = SchemaReader(storage, memory_chars=0, large=self._large)
        other._contents, other._parsed = self._contents, self._parsed
        return other

    def over_past(self, storage: Storage) -> SchemaReader:
        """Return a reader of an earlier moment, which shares the parsed schemas of this one.

        It reads contents by itself: those that were deleted since are refused.
        """
        other = SchemaReader(storage, memory_chars=_PAST_CHARS, large=self._large)
        other._parsed = self._parsed
        return other

    @property
    def has_processes(self) -> bool:
        """Whether what is done beside the event loop is done by other processes."""
        return self._large.judges.are_apart

    async def content(self, guid: UUID) -> Content:
        """Return the content of a stored version; raise ``StaleWrite`` if it has been deleted."""
        found = self._contents.get(guid)
        if found is None:
            found = await self._storage.content(guid)
            if found is None:
                raise StaleWrite(f"the version that held {guid} was deleted since it was read")
            _check_whole(found)
            self.keep(found)
        return found

    async def load(self, guids: Sequence[UUID]) -> None:
        """Load the contents into the cache, all in one request."""
        missing = [guid for guid in guids if guid not in self._contents]
        if len(missing) > 1:
            await asyncio.gather(*map(self.content, missing))

    def keep(self, content: Content) -> None:
        """Cache a content that was just stored, since the next version is compared with it."""
        self._contents.put(content.guid, content, weight=len(content.text) + _ENTRY_CHARS)

    async def parsed(
        self, context: str, content: Content, *, validation: Validation = Validation.LENIENT
    ) -> ParsedSchema:
        """Return the parsed form of a content stored in ``context``."""
        resolution = await self.resolve(context, content.references, deleted=True)
        return (await self._parse(content.text, content.schema_type, resolution, validation))[0]

    async def source(self, context: str, content: Content) -> SchemaSource:
        """Return what the schema of a content stored in ``context`` is parsed from to be compared.

        Raises ``InvalidSchema`` if a reference cannot be resolved.
        """
        resolution = await self.resolve(context, content.references, deleted=True)
        validation = language_for(content.schema_type).validation_to_compare
        return SchemaSource(content.text, content.schema_type, resolution.resolved, validation)

    async def read(
        self, context: str, request: SchemaRequest, *, validation: Validation, normalize: bool, deleted: bool
    ) -> ParsedRequest:
        """Return the schema that ``request`` describes, as it would be stored in ``context``.

        With ``deleted`` its references may be soft-deleted versions. Raises ``InvalidSchema``.
        """
        if request.is_blank:
            raise InvalidSchema("The schema is empty; expected a schema text")
        schema_type = parse_schema_type(request.schema_type)
        references = _sorted_references(request.references) if normalize else request.references
        resolution = await self.resolve(context, references, deleted=deleted)
        parsed, passed = await self._parse(request.text or "", schema_type, resolution, validation)
        if normalize:
            text = await self.about(parsed, normalized_text)
            parsed, _ = await self._parse(text, schema_type, resolution, Validation.LENIENT)
        else:
            text = parsed.canonical()
            self._remember(text, parsed, resolution, Validation.LENIENT)
        content = make_content(
            text,
            schema_type,
            references=resolution.references,
            metadata=request.metadata,
            rule_set=request.rule_set,
        )
        return ParsedRequest(Candidate(content, parsed), resolution.targets, passed)

    async def warnings(self, parsed: ParsedSchema) -> Sequence[PlacedWarning]:
        """Return the warnings about a schema."""
        return await self.about(parsed, placed_warnings)

    async def are_equivalent(self, first: ParsedSchema, second: ParsedSchema) -> bool:
        """Return whether two schemas are equal except for the order of attributes."""
        if isinstance(second, UnparsedSchema):
            return await self._large.run(are_equivalent, first, second)
        return await self.about(first, are_equivalent, second)

    async def about(self, parsed: ParsedSchema, work: Callable[..., _T], *given: object) -> _T:
        """Return ``work(parsed, *given)``, for a function of the schema room; beside the loop for a large text."""
        if self.is_large(parsed):
            return await self.beside(work, parsed, *given)
        return await self._large.here(work, parsed, *given)

    @staticmethod
    def is_large(parsed: ParsedSchema) -> bool:
        """Return whether a schema is so large that work on all of it would hold the event loop for long."""
        return len(parsed.text) + parsed.referenced_chars > LARGE_CHARS

    async def of_text(self, text: str, work: Callable[..., _T], *given: object) -> _T:
        """Return ``work(text, *given)``, for a function of the schema room; beside the event loop for a large text."""
        if len(text) <= LARGE_CHARS:
            return await self._large.here(work, text, *given)
        return await self.beside(work, text, *given)

    async def beside(self, work: Callable[..., _T], *given: object) -> _T:
        """Return ``work(*given)``, for a function of the schema room, beside the event loop."""
        return await self._large.run(work, *given)

    async def _parse(
        self, text: str, schema_type: SchemaType, resolution: Resolution, validation: Validation
    ) -> tuple[ParsedSchema, Validation]:
        """Parse ``text``, or return the cached result, and the validation.

        A strictly valid text has one result for all.
        """
        found = self._parsed.get((text, schema_type, Validation.STRICT, resolution.resolved))
        if found is not None:
            return found, Validation.STRICT
        if validation is not Validation.STRICT:
            found = self._parsed.get((text, schema_type, validation, resolution.resolved))
            if found is not None:
                return found, validation
        try:
            return await self._parse_anew(text, schema_type, resolution, Validation.STRICT), Validation.STRICT
        except InvalidSchema:
            if validation is Validation.STRICT:
                raise
            return await self._parse_anew(text, schema_type, resolution, validation), validation

    async def _parse_anew(
        self, text: str, schema_type: SchemaType, resolution: Resolution, validation: Validation
    ) -> ParsedSchema:
        parse = partial(parse_schema, text, schema_type, references=resolution.resolved, validation=validation)
        try:
            if len(text) + resolution.chars <= LARGE_CHARS:
                await LANGUAGE_CODE.to_compare(schema_type)
                found = await self._large.here(parse)
            elif self._large.judges.are_apart:
                found = await self._parsed_apart(SchemaSource(text, schema_type, resolution.resolved, validation))
            else:
                found = await self._large.run(_printed, parse)
        except RecursionError:
            raise InvalidSchema("The schema is nested too deeply to be read") from None
        self._remember(text, found, resolution, validation)
        return found

    async def _parsed_apart(self, source: SchemaSource) -> ParsedSchema:
        """Return a schema that a judge has parsed and printed; raise ``InvalidSchema`` if it is not valid."""
        summary = await self._large.run(summary_of, UnparsedSchema(source, _NOTHING_KNOWN))
        return UnparsedSchema(source, summary)

    def _remember(self, text: str, parsed: ParsedSchema, resolution: Resolution, validation: Validation) -> None:
        key = (text, parsed.schema_type, validation, resolution.resolved)
        self._parsed.put(key, parsed, weight=len(text) + _ENTRY_CHARS)

    async def resolve(self, context: str, references: Sequence[Reference], *, deleted: bool) -> Resolution:
        """Resolve ``references`` of ``context``.

        Raise ``InvalidSchema``, which names the first that cannot be resolved.
        """
        if not references:
            return _NO_REFERENCES
        found: dict[str, ResolvedReference] = {}
        direct: list[Reference] = []
        targets: list[ReferenceTarget] = []
        for reference in references:
            target, content = await self._target(context, reference, deleted=deleted)
            numbered = Reference(reference.name, reference.subject, target.version)
            direct.append(numbered)
            targets.append(target)
            await self._collect(target.subject.context, numbered, content, found, _MAX_REFERENCE_DEPTH)
        return Resolution(tuple(direct), tuple(targets), tuple(found.values()))

    async def _collect(
        self,
        context: str,
        reference: Reference,
        content: Content,
        found: dict[str, ResolvedReference],
        depth: int,
    ) -> None:
        """Add ``reference`` to ``found``, after the references of its content."""
        if reference.name in found:
            return
        if depth == 0:
            raise InvalidSchema(f"References are nested more than {_MAX_REFERENCE_DEPTH} deep at {reference.name!r}")
        for inner in content.references:
            target, inner_content = await self._target(context, inner, deleted=True)
            await self._collect(target.subject.context, inner, inner_content, found, depth - 1)
        found.setdefault(reference.name, ResolvedReference(reference, content.text))

    async def _target(self, context: str, reference: Reference, *, deleted: bool) -> tuple[ReferenceTarget, Content]:
        subject = parse_subject(reference.subject, context=context)
        wanted = None if reference.version == _LATEST else reference.version
        history = await self._storage.history(subject)
        entry = history.find(wanted, deleted=deleted)
        if entry is None or not reference.name:
            raise InvalidSchema(_unresolved(reference, subject, history))
        return ReferenceTarget(subject, entry.version, must_be_active=not deleted), await self.content(entry.guid)


def _printed(parse: Callable[[], ParsedSchema]) -> ParsedSchema:
    """Return a parsed schema whose canonical text is known."""
    found = parse()
    with suppress(InvalidSchema):
        found.canonical()  # it is kept, and printing takes about as long as parsing
    return found


def _unresolved(reference: Reference, subject: QualifiedSubject, history: SubjectHistory) -> str:
    """Return why a reference cannot be resolved, as a sentence."""
    if not reference.name:
        return f"A reference to subject {str(subject)!r} has no name; expected the name by which the schema uses it"
    what = f"Reference {reference.name!r}"
    if not reference.subject:
        return f"{what} names no subject; expected the subject and the version in which the schema is"
    is_latest = reference.version == _LATEST
    version = "the latest version" if is_latest else f"version {reference.version}"
    if not history.entries:
        why = "the subject has no versions"
    elif history.find(None if is_latest else reference.version, deleted=True) is not None:
        why = "that version is soft-deleted"
    elif not history.active:
        why = "all of its versions are soft-deleted"
    else:
        why = f"it has the versions {', '.join(str(each.version) for each in history.active[-_SHOWN_VERSIONS:])}"
    return f"{what} to {version} of subject {str(subject)!r} cannot be resolved: {why}"


def _check_whole(content: Content) -> None:
    """Check that a stored content has its fingerprint: a disk may return other bytes than were written."""
    if content_guid(content.text, content.references, content.metadata, content.rule_set) != content.guid:
        raise StoreUnavailable(
            f"The stored schema with guid {content.guid} is damaged: it is not what was registered; restore a backup"
        )


def _sorted_references(references: Sequence[Reference]) -> tuple[Reference, ...]:
    ordered = sorted(references, key=lambda reference: (reference.subject, reference.version))
    return tuple(dict.fromkeys(ordered))


def in_context(subject: QualifiedSubject, context: str) -> QualifiedSubject:
    """Return the subject of the same name in another context."""
    return QualifiedSubject(context, subject.name)


# Finding a schema among the versions of a subject.

_MAX_MARKS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Match:
    """The version that matches; ``exact`` if content and fingerprint are identical."""

    entry: VersionEntry
    content: Content
    exact: bool


class Matcher:
    """Compares a schema with stored ones."""

    def __init__(self, reader: SchemaReader) -> None:
        self._reader = reader
        self._marks: RecentValues[UUID, tuple[int, int]] = RecentValues(_MAX_MARKS)

    async def find(self, context: str, candidate: Candidate, entries: Iterable[VersionEntry]) -> Match | None:
        """Return the newest version of ``entries`` with identical content, else the newest equivalent one."""
        newest_first = sorted(entries, key=lambda entry: -entry.version)
        for entry in newest_first:
            if entry.guid == candidate.content.guid:
                return Match(entry, await self._reader.content(entry.guid), exact=True)
        possible = self._possible(candidate, newest_first)
        await self._reader.load([entry.guid for entry in possible])
        for number, entry in enumerate(possible, 1):
            if number % PARSED_AT_ONCE == 0:
                await asyncio.sleep(0)
            content = await self._reader.content(entry.guid)
            if may_match(candidate.content, content, entry.version) and await self._reader.are_equivalent(
                candidate.parsed, await self._parsed(context, content)
            ):
                return Match(entry, content, exact=False)
        return None

    def _possible(self, candidate: Candidate, entries: Sequence[VersionEntry]) -> list[VersionEntry]:
        """Return the versions that may be equivalent according to the cache, so that not all are read each time."""
        if candidate.content.references:
            return list(entries)
        mark = _mark(candidate.parsed)
        self._marks.put(candidate.content.guid, mark, weight=1)
        known = self._marks.get
        return [entry for entry in entries if known(entry.guid) in {None, mark}]

    async def _parsed(self, context: str, content: Content) -> ParsedSchema:
        parsed = await self._reader.parsed(context, content)
        if not content.references:
            self._marks.put(content.guid, _mark(parsed), weight=1)
        return parsed


def _mark(parsed: ParsedSchema) -> tuple[int, int]:
    """Return a value that equivalent schemas without references share: their sorted characters are the same."""
    text = parsed.canonical().encode("utf-8", "surrogatepass")
    return len(text), sum(text)


async def completed(
    request: SchemaRequest, config: Config, history: SubjectHistory, reader: SchemaReader
) -> SchemaRequest:
    """Return ``request`` with metadata and rules as a registration would store them.

    Missing parts come from the latest version; the config's defaults are overridden by it, the config's overrides
    override it.
    """
    metadata, rule_set = request.metadata, request.rule_set
    if history.latest is not None and not request.is_complete and (metadata is None or rule_set is None):
        latest = await reader.content(history.latest.guid)
        metadata = latest.metadata if metadata is None else metadata
        rule_set = latest.rule_set if rule_set is None else rule_set
    metadata, rule_set = merged_metadata(config, metadata), merged_rule_set(config, rule_set)
    if metadata is request.metadata and rule_set is request.rule_set:
        return request
    return replace(request, metadata=metadata, rule_set=rule_set)
