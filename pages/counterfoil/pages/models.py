"""The values of pages that show more than one value of ``/inspect/v1``, or the state of a form beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from counterfoil.pages.markup import day_of
from counterfoil.schema.rest.comparisons import DecodedBytes, DraftVerdict, SchemaComparison
from counterfoil.schema.rest.inspection import (
    ElementRow,
    ReferenceGraph,
    RegistryInspection,
    RuleRows,
    SourceWindow,
    SubjectInspection,
    SubjectRow,
    SubjectRows,
    VersionInspection,
    VersionName,
)
from counterfoil.schema.rest.observations import TopicStats
from counterfoil.schema.rest.search_index import RefusalRows, RefusedText, SearchResult

# Changes.


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change of the feed: ``sentence`` says what happened, such as ``Version 7 was registered``.

    ``kind`` is that of the feed, ``ts`` its time (epoch ms), ``by`` the principal, None if it is not known.
    """

    seq: int
    ts: int
    kind: str
    sentence: str
    subject: str = ""
    version: int | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class DayOfChanges:
    """The changes of one day in UTC, in the order of the page."""

    day: str
    changes: tuple[ChangeLine, ...]


def by_day(changes: Sequence[ChangeLine]) -> list[DayOfChanges]:
    """Return changes grouped by their days; the order stays."""
    return [DayOfChanges(day, tuple(found)) for day, found in groupby(changes, lambda each: day_of(each.ts))]


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """Changes, the newest first, with the filter that chose them; ``next`` is the ``before`` of the next page, or 0.

    ``kinds`` are all kinds that there are.
    """

    changes: tuple[ChangeLine, ...]
    kinds: tuple[str, ...] = ()
    kind: str = ""
    subject: str = ""
    by: str = ""
    since: str = ""
    until: str = ""
    next: int = 0


# The registry.


@dataclass(frozen=True, slots=True)
class HomePage:
    """The first page: the registry and its last changes.

    ``address`` is that of the API, for the first commands. ``subjects`` are the first ones of an earlier moment, None
    for now.
    """

    registry: RegistryInspection
    changes: tuple[ChangeLine, ...] = ()
    address: str = ""
    subjects: SubjectRows | None = None


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A search: its form and its result, which is None for an empty query.

    ``within`` is ``latest`` or ``any``: which versions were searched.
    """

    result: SearchResult | None
    query: str = ""
    kind: str = ""
    schema_type: str = ""
    context: str = ""
    within: str = "latest"
    contexts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubjectsPage:
    """The list of subjects by name, with its filter."""

    rows: SubjectRows
    prefix: str = ""
    context: str = ""
    deleted: bool = False
    contexts: tuple[str, ...] = ()
    after: str = ""


class SubjectTab(StrEnum):
    """The parts of a subject's page; the first one has all that fits."""

    VERSIONS = "versions"
    READERS = "readers"
    REFERENCES = "references"
    RULES = "rules"
    CHANGES = "changes"
    REFUSALS = "refusals"


@dataclass(frozen=True, slots=True)
class SubjectPage:
    """A subject, and the parts that the chosen tab needs besides."""

    subject: SubjectInspection
    tab: SubjectTab = SubjectTab.VERSIONS
    graph: ReferenceGraph | None = None
    changes: tuple[ChangeLine, ...] = ()
    refusals: RefusalRows | None = None


class VersionView(StrEnum):
    """The three views of a version."""

    FIELDS = "fields"
    SOURCE = "source"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class VersionPage:
    """A version in one of its views: ``source`` is for the second, ``raw`` for the third.

    ``prefix`` limits the elements to those below a path. ``cut`` is the number of characters of ``raw`` that are left
    out.
    """

    version: VersionInspection
    view: VersionView = VersionView.FIELDS
    source: SourceWindow | None = None
    raw: str | None = None
    cut: int = 0
    prefix: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class ReferencesPage:
    """The graph of the references of a version; ``direction`` is ``out``, ``in`` or ``both``."""

    graph: ReferenceGraph
    direction: str = "out"
    depth: int = 2


@dataclass(frozen=True, slots=True)
class TopicPage:
    """A topic: its subjects, the elements of its values and its keys, and the counts of its records' schemas."""

    topic: str
    value: SubjectRow | None = None
    key: SubjectRow | None = None
    value_elements: tuple[ElementRow, ...] = ()
    key_elements: tuple[ElementRow, ...] = ()
    elements_left: int = 0
    others: tuple[SubjectRow, ...] = ()
    stats: tuple[TopicStats, ...] = ()


# Rules and refusals.


@dataclass(frozen=True, slots=True)
class RulesPage:
    """The list of rules with its filter."""

    rules: RuleRows
    schema_type: str = ""
    policy: str = ""
    query: str = ""
    policies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusalsPage:
    """Refused registrations, those of one subject if it is named."""

    rows: RefusalRows
    subject: str = ""


@dataclass(frozen=True, slots=True)
class RefusalPage:
    """A refused registration, and the verdict about it as of then; None if it cannot be made again: ``why_none``."""

    refused: RefusedText
    verdict: DraftVerdict | None = None
    why_none: str = ""


# Comparisons, drafts, bytes: pages with forms.


@dataclass(frozen=True, slots=True)
class FormFault:
    """What is wrong with an entry of a form: ``name`` is that of the entry, ``general`` faults have an empty one."""

    name: str
    message: str


class CompareView(StrEnum):
    """The three views of a comparison."""

    CHANGES = "changes"
    SPLIT = "split"
    INLINE = "inline"


@dataclass(frozen=True, slots=True)
class ComparePage:
    """A comparison with its form: the operands as they were given, such as ``orders-value@7``.

    ``comparison`` is None for an empty form, or one with ``faults``. The sources are for ``split`` and ``inline``.
    ``show`` is ``all`` or ``breaking``. ``proof`` is ``full`` if as many values as possible were written and read, or
    empty. ``versions`` are those of the later side's subject, to be chosen from.
    """

    comparison: SchemaComparison | None = None
    earlier: str = ""
    later: str = ""
    policy: str = ""
    view: CompareView = CompareView.CHANGES
    show: str = "all"
    proof: str = ""
    earlier_source: SourceWindow | None = None
    later_source: SourceWindow | None = None
    policies: tuple[str, ...] = ()
    versions: tuple[VersionName, ...] = ()
    faults: tuple[FormFault, ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True)
class TryPage:
    """A draft, what would happen if it were registered, and the ways on.

    ``references`` is the text of the entry: one ``name subject version`` a line. ``curl``, ``check`` and ``bridge``
    are the commands that register it, check it, and bridge a change that breaks; empty if there is none.
    ``share_url`` is an address with the draft in it, empty if it is too large for one.
    """

    subject: str = ""
    schema: str = ""
    schema_type: str = "AVRO"
    references: str = ""
    level: str = ""
    policy: str = ""
    verdict: DraftVerdict | None = None
    faults: tuple[FormFault, ...] = ()
    levels: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    curl: str = ""
    check: str = ""
    bridge: str = ""
    share_url: str = ""
    show: str = "all"


@dataclass(frozen=True, slots=True)
class DecodeForm:
    """What the decode form was filled with; ``part`` is ``value`` or ``key``, ``reader`` an operand."""

    text: str = ""
    subject: str = ""
    topic: str = ""
    part: str = "value"
    reader: str = ""
    header: str = ""


@dataclass(frozen=True, slots=True)
class DecodePage:
    """Bytes as they were given, and what they mean; ``shown`` is whether masked values were asked for."""

    form: DecodeForm = DecodeForm()
    decoded: DecodedBytes | None = None
    shown: bool = False
    faults: tuple[FormFault, ...] = ()


# Errors.


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """An answer that is no page: the status and code of the API, its sentence, and what helps.

    ``missing`` is the part of the address that is not there, such as ``version 9``. ``nearest`` are names that
    resemble a missing one. ``removed_seq`` and ``removed_ts`` (epoch ms) are of the change that removed what is
    missing. ``command`` does the same where there is more time. ``retry_s`` is when to try again.
    """

    status: int
    title: str
    message: str
    error_code: int | None = None
    request_id: str = ""
    missing: str = ""
    nearest: tuple[str, ...] = ()
    removed_seq: int | None = None
    removed_ts: int | None = None
    command: str = ""
    retry_s: int | None = None


@dataclass(frozen=True, slots=True)
class HelpPage:
    """The page about search, notation and keys; ``address`` is that of the API."""

    address: str = ""
