"""Reading schemas: resolving references, and caching parsed texts and contents."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.registry.domain.content import Content, make_content
from counterfoil.registry.domain.equivalence import Candidate
from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.registry.domain.writes.guards import Target
from counterfoil.registry.service.judging import JudgementThreads, LongJudgements
from counterfoil.registry.service.languages import LANGUAGE_CODE
from counterfoil.registry.service.requests import parse_schema_type
from counterfoil.registry.service.unparsed import UnparsedSchema
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import InvalidSchema, StoreUnavailable
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.parsed import SchemaSource, Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.recent_values import RecentValues
from counterfoil.schema.summary import SchemaSummary, are_equivalent, normalized_text, placed_warnings, summary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from counterfoil.registry.domain.versions import History
    from counterfoil.registry.service.requests import SchemaRequest
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.summary import PlacedWarning

_T = TypeVar("_T")

PARSED_AT_ONCE: Final = 8
"""After so many schemas of a long history, other requests are handled before the next are parsed."""

_LARGE_CHARS: Final = 8 * 1024
"""The characters of a text, with its references, that takes so long that it is parsed beside the event loop."""

MAX_TEXTS: Final = 1024
"""The largest number of such texts that are parsed or wait for it."""

_MAX_REFERENCE_DEPTH: Final = 100
_LATEST: Final = -1
_SHOWN_VERSIONS: Final = 10
_ENTRY_CHARS: Final = 200
"""The memory of a cached schema besides its text, in characters."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """A request's references: as they are stored, the versions that they refer to, and the texts of these."""

    references: tuple[Reference, ...] = ()
    targets: tuple[Target, ...] = ()
    resolved: tuple[ResolvedReference, ...] = ()

    @property
    def chars(self) -> int:
        """The number of characters of all these texts."""
        return sum(len(each.text) for each in self.resolved)


_NO_REFERENCES: Final = Resolution()
_NOTHING_KNOWN: Final = SchemaSummary("", None, ())


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed request: the schema, the versions it refers to, and the strictest validation that it passes."""

    candidate: Candidate
    targets: tuple[Target, ...]
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

    async def read(
        self, context: str, request: SchemaRequest, *, validation: Validation, normalize: bool, deleted: bool
    ) -> Reading:
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
        return Reading(Candidate(content, parsed), resolution.targets, passed)

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
        if len(parsed.text) + parsed.referenced_chars <= _LARGE_CHARS:
            return work(parsed, *given)
        return await self.beside(work, parsed, *given)

    async def of_text(self, text: str, work: Callable[..., _T], *given: object) -> _T:
        """Return ``work(text, *given)``, for a function of the schema room; beside the event loop for a large text."""
        return work(text, *given) if len(text) <= _LARGE_CHARS else await self.beside(work, text, *given)

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
            if len(text) + resolution.chars <= _LARGE_CHARS:
                await LANGUAGE_CODE.to_compare(schema_type)
                found = parse()
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
        targets: list[Target] = []
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

    async def _target(self, context: str, reference: Reference, *, deleted: bool) -> tuple[Target, Content]:
        subject = parse_subject(reference.subject, context=context)
        wanted = None if reference.version == _LATEST else reference.version
        history = await self._storage.history(subject)
        entry = history.find(wanted, deleted=deleted)
        if entry is None or not reference.name:
            raise InvalidSchema(_unresolved(reference, subject, history))
        return Target(subject, entry.version, must_be_active=not deleted), await self.content(entry.guid)


def _printed(parse: Callable[[], ParsedSchema]) -> ParsedSchema:
    """Return a parsed schema whose canonical text is known."""
    found = parse()
    with suppress(InvalidSchema):
        found.canonical()  # it is kept, and printing takes about as long as parsing
    return found


def _unresolved(reference: Reference, subject: QualifiedSubject, history: History) -> str:
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
