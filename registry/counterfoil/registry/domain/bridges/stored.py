"""Bridges and the reports about them as stored documents.

A bridge has two records: by name, and by the schema of its source, so that a registration finds it. Each kind of report
has one, with the latest report.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from counterfoil.schema.rest.bridges import (
    BRIDGE,
    PROGRESS,
    READERS,
    VERIFICATION,
    Bridge,
    Progress,
    Readers,
    Verification,
)
from counterfoil.schema.rest.json_values import ReplyJson

if TYPE_CHECKING:
    from counterfoil.schema.rest.bridges import BridgeSide
    from counterfoil.schema.rest.object_forms import Document, ObjectForm

BRIDGE_KIND: Final = "bridge"
BY_SOURCE_KIND: Final = "bridge-by-source"

_Report = TypeVar("_Report")


@dataclass(frozen=True, slots=True)
class ReportKind(Generic[_Report]):
    """A kind of report: its name in messages, the kind of its records, and its form."""

    name: str
    record_kind: str
    form: ObjectForm[_Report]

    def read(self, document: Document) -> _Report:
        """Return the report in a stored document."""
        return self.form.read(ReplyJson(document))


PROGRESS_KIND: Final[ReportKind[Progress]] = ReportKind("progress", "bridge-progress", PROGRESS)
VERIFICATION_KIND: Final[ReportKind[Verification]] = ReportKind("verification", "bridge-verification", VERIFICATION)
READERS_KIND: Final[ReportKind[Readers]] = ReportKind("readers", "bridge-readers", READERS)
REPORT_KINDS: Final = (PROGRESS_KIND, VERIFICATION_KIND, READERS_KIND)

REPORT_RECORD_KINDS: Final = frozenset(kind.record_kind for kind in REPORT_KINDS)
RECORD_KINDS: Final = frozenset({BRIDGE_KIND, BY_SOURCE_KIND}) | REPORT_RECORD_KINDS
"""The kinds of all records about bridges."""


def bridge_key(name: str) -> tuple[str, ...]:
    """Return the record key of a bridge, and of the reports about it."""
    return (name,)


def source_key(side: BridgeSide, name: str | None = None) -> tuple[str, ...]:
    """Return the key of the record by source of a bridge, or the prefix of the keys of all with this source."""
    prefix = (side.subject.context, side.subject.name, str(side.guid))
    return prefix if name is None else (*prefix, name)


def stored_bridge(bridge: Bridge) -> Document:
    """Return the stored document of a bridge; the ids of its schemas are not stored, but read with their versions."""
    source, target = replace(bridge.source, id=None), replace(bridge.target, id=None)
    return BRIDGE.write(replace(bridge, source=source, target=target))


def by_source_document(bridge: Bridge) -> Document:
    """Return the document of the record by source."""
    return {"bridge": bridge.name}


def read_stored_bridge(document: Document) -> Bridge:
    """Return the bridge in a stored document."""
    return BRIDGE.read(ReplyJson(document))
