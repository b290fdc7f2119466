"""Sketches of topics, each stored as a record of its subject, whether or not the subject has versions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.audit.about import facts_about
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.writes.plan import record_write
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import SketchNotFound

if TYPE_CHECKING:
    from counterfoil.registry.service.judging import LongJudgements
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Record, Storage
    from counterfoil.schema.rest.object_forms import Document

SKETCH_KIND: Final = "sketch"


def sketch_key(subject: QualifiedSubject) -> tuple[str, ...]:
    """Return the record key of a subject's sketch."""
    return subject.context, subject.name


class Sketches:
    """The use cases of stored sketches."""

    def __init__(self, storage: Storage, *, scopes: Scopes, long: LongJudgements) -> None:
        self._storage = storage
        self._scopes = scopes
        self._long = long
        self._turns = Turns(storage.catch_up)

    async def subjects(self) -> list[QualifiedSubject]:
        """Return the subjects that have a sketch, sorted."""
        return sorted(QualifiedSubject(*record.key) for record in await self._storage.records(SKETCH_KIND))

    async def get(self, subject: QualifiedSubject) -> Document:
        """Return the document of a subject's sketch; raise ``SketchNotFound`` if there is none."""
        return (await self._record(subject)).document

    async def put(self, subject: QualifiedSubject, document: Document) -> None:
        """Store a sketch; raise ``UnusableSketch`` for a document that is none of this subject."""
        from counterfoil.schema.sketch.stored import stored_sketch  # most servers never need it

        checked = await self._long.run(stored_sketch, subject.name, document)
        await self._turns.take(partial(self._put, subject, checked), written=str(subject))

    async def delete(self, subject: QualifiedSubject) -> None:
        """Delete a subject's sketch; raise ``SketchNotFound`` if there is none."""
        await self._turns.take(partial(self._put, subject, None), written=str(subject))

    async def _put(self, subject: QualifiedSubject, document: Document | None) -> None:
        check_writable(await self._scopes.mode(subject), subject)
        found = await self._find(subject)
        if document is None and found is None:
            raise _missing(subject)
        key, revision = sketch_key(subject), 0 if found is None else found.revision
        about = facts_about([subject])
        await self._storage.commit(record_write(SKETCH_KIND, key, document, revision=revision, for_audit=about))

    async def _find(self, subject: QualifiedSubject) -> Record | None:
        found = await self._storage.records(SKETCH_KIND, sketch_key(subject))
        return found[0] if found else None

    async def _record(self, subject: QualifiedSubject) -> Record:
        found = await self._find(subject)
        if found is None:
            raise _missing(subject)
        return found


def _missing(subject: QualifiedSubject) -> SketchNotFound:
    return SketchNotFound(f"There is no sketch of subject {str(subject)[:80]!r}")
