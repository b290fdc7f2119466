"""Kinds of records that hold values: what each is called, how its values are written, and the key of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from counterfoil.registry.domain.audit.about import facts_about
from counterfoil.registry.domain.writes.plan import record_write
from counterfoil.schema.rest.json_values import ReplyJson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from counterfoil.registry.domain.writes.plan import Plan
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document, ObjectForm

_T = TypeVar("_T")

Key = tuple[str, ...]


class StoredRecord(Protocol):
    """The part of a stored record that a value is made of."""

    @property
    def document(self) -> Document:
        """Its content."""

    @property
    def revision(self) -> int:
        """The number of its last change."""


@dataclass(frozen=True, slots=True)
class StoredKind(Generic[_T]):
    """A kind of records that hold values: its name, the form of the values, and the key of each."""

    name: str
    form: ObjectForm[_T]
    key: Callable[[_T], Key]

    def read(self, document: Document) -> _T:
        """Return the value in a stored document."""
        return self.form.read(ReplyJson(document))

    def held(self, record: StoredRecord) -> tuple[_T, int]:
        """Return the value in a record, and the record's revision."""
        return self.read(record.document), record.revision

    def write(self, value: _T, *, revision: int, subjects: Iterable[QualifiedSubject] = ()) -> Plan:
        """Return the plan that stores ``value`` instead of the record with ``revision``; 0 if there is none.

        ``subjects`` are those that it is about, for the audit.
        """
        about = facts_about(subjects)
        return record_write(self.name, self.key(value), self.form.write(value), revision=revision, for_audit=about)
