"""Bytes with the schema that wrote them: found by their frame, or by trying the versions of a subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.inspection.comparisons import ComparisonPages, require_read
from counterfoil.registry.inspection.identifiers import version_name
from counterfoil.registry.judges.judging import LongJudgements, Pauses
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.levels import Scopes
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.versions import VersionEntry, VersionUse
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
from counterfoil.schema.decoding import (
    DecodingQuestion,
    FoundFrame,
    GivenBytes,
    NamedSchema,
    decode_bytes,
    find_frame,
    read_given,
)
from counterfoil.schema.errors import BadRequest, InvalidSchema
from counterfoil.schema.rest.comparisons import DecodedBytes
from counterfoil.schema.rest.inspection import VersionName

MAX_TEXT_CHARS: Final = 8 * 1024 * 1024
"""The largest number of characters of a text that stands for a megabyte: a record of kcat has escapes."""

_MAX_CANDIDATES: Final = 20
"""The newest versions of a subject that are tried for bytes without a frame."""


@dataclass(frozen=True, slots=True)
class BytesGiven:
    """What a request says of some bytes.

    ``text`` stands for them in the ``form`` hex, base64 or kcat; an empty form is guessed. ``header`` is the value of
    the header that names their schema, as hexadecimal digits. ``subject`` or ``topic`` says whose they are, and
    ``reader`` is the version as which they are read, too.
    """

    text: str
    form: str = ""
    header: str = ""
    subject: str = ""
    topic: str = ""
    is_key: bool = False
    reader: str = ""
    shows_masked: bool = False


@dataclass(frozen=True, slots=True)
class _Writer:
    """The schema that a frame names, and the versions that have it."""

    uses: Sequence[VersionUse]
    guid: UUID


class DecodingPages:
    """The use case of decoding."""

    def __init__(
        self,
        storage: Storage,
        *,
        scopes: Scopes,
        reader: SchemaReader,
        comparisons: ComparisonPages,
        long: LongJudgements,
    ) -> None:
        self._storage = storage
        self._scopes = scopes
        self._reader = reader
        self._comparisons = comparisons
        self._long = long

    async def decode(self, given: BytesGiven, *, viewer: Viewer) -> DecodedBytes:
        """Return bytes as the schema reads them that their frame names, or one of their subject that reads them all.

        A schema that the caller may not read is as if it were unknown. Raises ``BadRequest`` for a text that stands for
        no bytes, and the errors of a version that is named.
        """
        viewer.filters()
        read = read_given(given.text, is_key=given.is_key, form=given.form)
        header = _header(given.header) if given.header else read.header
        frame = find_frame(read.data, header=header)
        subject = await self._subject(given, read, viewer=viewer)
        writer = await self._writer(frame, subject, viewer=viewer)
        reader = await self._named_reader(given.reader, viewer=viewer) if given.reader else None
        question = DecodingQuestion(read.data, frame, reader=reader, shows_masked=given.shows_masked)
        if writer is not None:
            question = await self._with_writer(question, writer)
        elif subject is not None:
            question = await self._with_candidates(question, subject)
        return await self._long.run(decode_bytes, question)

    async def _subject(self, given: BytesGiven, read: GivenBytes, *, viewer: Viewer) -> QualifiedSubject | None:
        """Return the subject of the bytes: the one that is named, or that of the topic, if it has versions."""
        if given.subject:
            named = parse_subject(given.subject)
            subject = await self._scopes.aliased(named)
            require_read(viewer, subject, named=named)
            return subject
        topic = given.topic or read.topic
        if not topic:
            return None
        subject = await self._scopes.aliased(parse_subject(f"{topic}-{'key' if given.is_key else 'value'}"))
        return subject if viewer.may_read(subject) else None

    async def _writer(self, frame: FoundFrame, subject: QualifiedSubject | None, *, viewer: Viewer) -> _Writer | None:
        """Return the schema that a frame names, if the caller may read a subject that has it."""
        context = DEFAULT_CONTEXT if subject is None else subject.context
        if frame.id is not None:
            uses = [each for each in await self._storage.uses(context, frame.id) if viewer.may_read(each.subject)]
            guid = await self._storage.guid_of_id(context, frame.id) if uses else None
            return None if guid is None else _Writer(uses, guid)
        if frame.guid is None:
            return None
        uses = []
        for each, schema_id in await self._storage.ids_of_guid(frame.guid):
            uses += [use for use in await self._storage.uses(each, schema_id) if viewer.may_read(use.subject)]
        return _Writer(uses, frame.guid) if uses else None

    async def _named_reader(self, text: str, *, viewer: Viewer) -> NamedSchema:
        """Return the version as which bytes are read, too."""
        name = self._comparisons.operand(text)
        subject = await self._scopes.aliased(name.subject)
        require_read(viewer, subject, named=name.subject)
        entry = (await self._storage.history(subject)).pick(subject, name.version, deleted=True)
        return await self._named(subject, entry)

    async def _named(self, subject: QualifiedSubject, entry: VersionEntry) -> NamedSchema:
        content = await self._reader.content(entry.guid)
        name = VersionName(str(subject), entry.version, entry.schema_id, entry.deleted)
        return NamedSchema(name, await self._reader.parsed(subject.context, content))

    async def _with_writer(self, question: DecodingQuestion, writer: _Writer) -> DecodingQuestion:
        """Return a question with the schema that wrote the bytes."""
        content = await self._reader.content(writer.guid)
        parsed = await self._reader.parsed(writer.uses[0].subject.context, content)
        names = tuple(map(version_name, writer.uses))
        tags = {} if content.metadata is None else dict(content.metadata.tags)
        return replace(question, writer=parsed, writers=names, tags_by_path=tags)

    async def _with_candidates(self, question: DecodingQuestion, subject: QualifiedSubject) -> DecodingQuestion:
        """Return a question with the newest versions of a subject, which are tried."""
        candidates: list[NamedSchema] = []
        tags: dict[str, Sequence[str]] = {}
        pauses = Pauses()
        for entry in reversed((await self._storage.history(subject)).entries[-_MAX_CANDIDATES:]):
            await pauses.pause_if_due()
            content = await self._reader.content(entry.guid)
            for path, names in () if content.metadata is None else content.metadata.tags.items():
                tags[path] = tuple(dict.fromkeys([*tags.get(path, ()), *names]))
            try:
                candidates.append(await self._named(subject, entry))
            except InvalidSchema:
                continue  # what it refers to is gone
        return replace(question, candidates=tuple(candidates), tags_by_path=tags)


def _header(text: str) -> bytes:
    """Return the bytes of a header from hexadecimal digits; raise ``BadRequest``."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise BadRequest(f"header is {text[:80]!r}; expected hexadecimal digits") from None
