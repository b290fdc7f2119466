"""The check of one schema file: by itself, against its earlier versions, and for the records of its topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.baselines import Baseline
from counterfoil.contracts.check.drafts import FileDrafts, FindingDraft, VersionCheck
from counterfoil.contracts.check.topics import SketchedTopics, WeighedSchema
from counterfoil.contracts.findings import FileOutcome, Finding, Status, TopicRecords
from counterfoil.contracts.project import FileProblem, ReadSchema, SchemaTree
from counterfoil.contracts.project.languages import subject_in_name
from counterfoil.contracts.project.subjects import rivals_text, unmapped_text
from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.compatibility.findings import Difference, identity_of, names_of, show
from counterfoil.schema.languages.table import find_changes, language_for
from counterfoil.schema.parsed import ParsedSchema, SchemaWarning
from counterfoil.schema.paths import FieldPath, print_path
from counterfoil.schema.reports import Severity
from counterfoil.schema.texts import Position, print_pointer

if TYPE_CHECKING:
    from counterfoil.contracts.project.model import Project


# What breaks the programs that use code generated from a schema, whatever it does to records.
#
# These are the changes of names and types that a code generator makes classes, fields and constants of. The categories
# are those of ``buf breaking``: PACKAGE, and FILE, under which a declaration must also stay in its file.

NAME_CHANGED: Final = "generated-name-changed"
TYPE_CHANGED: Final = "generated-type-changed"
PACKAGE_CHANGED: Final = "generated-package-changed"
FILE_MOVED: Final = "generated-file-moved"

_RULE_BY_KIND: Final[Mapping[ChangeKind, str]] = {
    **dict.fromkeys(
        (
            ChangeKind.FIELD_REMOVED,
            ChangeKind.FIELD_RENAMED,
            ChangeKind.TYPE_REMOVED,
            ChangeKind.TYPE_RENAMED,
            ChangeKind.TYPE_MOVED,
            ChangeKind.SYMBOL_REMOVED,
            ChangeKind.SYMBOL_RENAMED,
            ChangeKind.ONEOF_REMOVED,
            ChangeKind.ONEOF_RENAMED,
            ChangeKind.SERVICE_REMOVED,
        ),
        NAME_CHANGED,
    ),
    **dict.fromkeys(
        (
            ChangeKind.TYPE_CHANGED,
            ChangeKind.LOGICAL_TYPE_CHANGED,
            ChangeKind.BRANCH_ADDED,
            ChangeKind.BRANCH_REMOVED,
            ChangeKind.LABEL_CHANGED,
            ChangeKind.ONEOF_CHANGED,
        ),
        TYPE_CHANGED,
    ),
    ChangeKind.NAMESPACE_CHANGED: PACKAGE_CHANGED,
}
_PACKAGE_OPTIONS: Final = frozenset(
    {
        "java_package",
        "java_outer_classname",
        "java_multiple_files",
        "go_package",
        "csharp_namespace",
        "objc_class_prefix",
        "php_class_prefix",
        "php_namespace",
        "php_metadata_namespace",
        "ruby_package",
        "swift_prefix",
    }
)
"""The options of a ``.proto`` file that name what code generators make of it."""


class GeneratedCode(StrEnum):
    """The names that programs with generated code need unchanged."""

    NONE = "none"
    PACKAGE = "package"
    FILE = "file"


def changes_of_generated_code(earlier: ParsedSchema, later: ParsedSchema) -> Iterator[tuple[str, Change]]:
    """Yield the changes that break generated code, each with the id of its rule.

    Schemas of different languages have no change in common; that they differ is reported elsewhere.
    """
    if earlier.schema_type is not later.schema_type:
        return
    for change in find_changes(earlier, later):
        rule = PACKAGE_CHANGED if _names_a_package(change) else _RULE_BY_KIND.get(change.kind)
        if rule is not None:
            yield rule, change


def _names_a_package(change: Change) -> bool:
    """Return whether an option of the file names generated code."""
    written = change.earlier or change.later or ""
    return change.kind is ChangeKind.OPTION_CHANGED and written.partition(" ")[0] in _PACKAGE_OPTIONS


# How one schema file is checked.


class FilesBefore(NamedTuple):
    """The files as they were, None where that is not known, and the project as it was."""

    files: Baseline | None
    project: Project | None


class EarlierSubjects:
    """The subjects that files had before; ``before`` is called when they are first needed."""

    def __init__(self, before: Callable[[], FilesBefore]) -> None:
        self._call = before

    @cached_property
    def _before(self) -> FilesBefore:
        return self._call()

    def of(self, path: str, earlier: ReadSchema | None = None) -> EarlierSubject | None:
        """Return the subjects of the file that the one at ``path`` comes from; None where they are not known.

        ``earlier`` is that file if it is known already.
        """
        files, project = self._before
        if earlier is None:
            history = files.history(path, is_transitive=False) if files is not None else ()
            if not history:
                return None
            earlier = history[0]
        names = _subjects_in(project, earlier)
        return EarlierSubject(earlier.path, earlier.label, names) if names else None


def _subjects_in(project: Project | None, earlier: ReadSchema) -> tuple[str, ...]:
    if project is None or not project.schemas:
        own = subject_in_name(earlier.path)
        return () if own is None else (own,)
    mapping = project.mapping(earlier.path, name=earlier.schema.name if earlier.schema else None)
    return () if mapping is None else tuple(each.name for each in mapping.subjects)


class EarlierSubject(NamedTuple):
    """The subjects of an earlier file, with its path and the name of the side that has it."""

    path: str
    label: str
    names: tuple[str, ...]

    def change_text(self, path: str, now: Sequence[str]) -> str:
        """Return the sentence that the file, now at ``path``, has other subjects ``now``; empty if it keeps its own."""
        if set(self.names) <= set(now):
            return ""
        was, is_now = (" and ".join(map(repr, each)) for each in (self.names, now))
        moved = f"; the file was {self.path}" if self.path != path else ""
        if not now:
            return f"this file has no subject now, and had {was}{moved}"
        return f"the subject of this file is {is_now} now, and was {was}{moved}"


@dataclass(frozen=True, slots=True)
class FileRequest:
    """The level and policy of a file, and everything else that determines its check.

    They are as for :func:`~counterfoil.contracts.check.check.check_files`.

    ``needs_subject``: a file without a subject is no answer. ``rivals`` are the other files that have a subject of this
    one, by subject. ``subjects`` returns the names of its subjects, and ``earlier_subjects`` those that it had before.
    ``is_by_name``: nothing but the path says which subject it is. ``is_first`` is false for a check against a further
    subject, in which the file itself is not judged again.
    """

    level: CompatibilityLevel
    policy: CompatibilityPolicy
    confirm: int = 0
    needs_subject: bool = False
    topics: SketchedTopics | None = None
    owner: str = ""
    subject: str | None = None
    generated_code: GeneratedCode = GeneratedCode.NONE
    rivals: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unmapped: Sequence[str] = ()
    subjects: Callable[[], tuple[str, ...]] = tuple
    earlier_subjects: EarlierSubjects | None = None
    is_first: bool = True
    is_by_name: bool = False


# How many records of a topic trigger the findings about a schema file.

_UNREAD_IN_TOPIC: Final = "unread-in-topic"


class TopicWeights:
    """The records of the topic of one schema, where a sketch has them."""

    def __init__(self, schema: ParsedSchema | None, request: FileRequest, drafts: FileDrafts) -> None:
        self._schema = schema
        self._request = request
        self._drafts = drafts
        self._weighed: WeighedSchema | None = None
        self._weighable: Collection[str] = frozenset()

    def with_records(self, finding: Finding) -> Finding:
        """Return a finding with the number of records that trigger it; one that none triggers may be a notice."""
        weighed, topics = self._weighed, self._request.topics
        if weighed is None or topics is None or finding.direction is None:
            return finding
        if finding.direction != Direction.BACKWARD.name:
            return replace(finding, records=TopicRecords(None, weighed.total, is_about_later=True))
        is_known = finding.fingerprint in self._weighable and not finding.also_breaks
        records = weighed.records(finding.fingerprint, is_known=is_known)
        is_ignored = topics.ignores_untriggered and records.is_harmless
        return replace(finding, records=records, severity=Severity.NOTICE if is_ignored else finding.severity)

    def weigh(self, weighable: Collection[str]) -> None:
        """Weigh the schema with the records of its topic, and report breaks that the earlier versions do not show.

        ``weighable`` are the fingerprints of the differences from these versions.
        """
        self._weighable = weighable
        topics, schema = self._request.topics, self._schema
        if topics is None or schema is None or not self._request.level.directions:
            return
        backward = Direction.BACKWARD

        def known_as(difference: Difference) -> str:
            return self._drafts.fingerprint(difference.rule, backward.name, identity_of(difference))

        weighed = topics.weigh(self._drafts.subject, schema, policy=self._request.policy, fingerprint=known_as)
        self._weighed = weighed
        if weighed is not None and backward in self._request.level.directions:
            for each in weighed.unreported(weighable):
                severity = Severity.ERROR if topics.ignores_untriggered else Severity.WARNING
                identity = (each.writer, identity_of(each.difference))
                self._drafts.report(
                    _UNREAD_IN_TOPIC, severity, each.text, path=each.difference.element, identity=identity
                )

    @property
    def has_sketch(self) -> bool:
        """Whether a sketch has the records of this schema's subject."""
        topics, schema = self._request.topics, self._schema
        return topics is not None and schema is not None and topics.find_part(self._drafts.subject, schema) is not None


# The check of one schema file: what it is by itself, and against its earlier versions.

_MISSING_IMPORT: Final = "missing-import"
_WAS_SO: Final = " (it was so before this change)"


class FileCheck:
    """The check of one file; ``drafts`` grows while it runs."""

    def __init__(self, head: SchemaTree, path: str, baseline: Baseline, request: FileRequest) -> None:
        self._candidate = head.read(path)
        self._language = head.language(path)
        self._path = path
        self._baseline = baseline
        self._request = request
        names = head.outline(path)
        self._subject = baseline.subject(path) or request.subject or (names and names.name) or path
        self._confirmed = 0
        self._compared: tuple[str, ...] = ()
        self.drafts = FileDrafts(head, path, self._subject, is_shared=bool(request.rivals))
        self._weights = TopicWeights(self._candidate.schema, request, self.drafts)

    def run(self) -> FileOutcome:
        """Check the file and return its outcome."""
        history = self._baseline.history(self._path, is_transitive=self._request.level.is_transitive)
        is_same = _is_same(history[0], self._candidate) if history else False
        if self._request.is_first:
            self._report_on_file(history, is_same=is_same)
        if history is not None and not (history and self._baseline.names_subjects):
            self._report_other_subject(next(iter(history), None))
        if self._candidate.problem is not None:
            return self._outcome(Status.INVALID, (history or ())[:1])
        if history is None:
            self._report_unmapped()
            return replace(self._outcome(Status.SKIPPED), is_mapped=False)
        if is_same:
            self._report_move(history[0])
            return self._outcome(Status.UNCHANGED, history[:1])
        if not history:
            where = f" of subject {self._subject}" if self._baseline.names_subjects else ""
            text = f"new: there is no earlier version{where} in {self._baseline.label}"
            self.drafts.report("schema-new", Severity.NOTICE, text)
            return self._outcome(Status.NEW)
        return self._compare(history)

    def _report_on_file(self, history: Sequence[ReadSchema] | None, *, is_same: bool) -> None:
        """Add the mistakes of the file by itself."""
        self._report_rivals()
        if self._candidate.has_byte_order_mark and language_for(self._language).is_json:
            text = "the file starts with a byte order mark, which JSON forbids and some readers refuse"
            self.drafts.report("byte-order-mark", Severity.WARNING, text, position=Position(1, 1))
        if self._candidate.problem is not None:
            self._report_missing(history or ())
            self._report_invalid(self._candidate.problem, history or ())
        elif history is not None and not is_same:
            self._report_missing(history)
            self._report_warnings(history)

    def _report_unmapped(self) -> None:
        """Add a notice about a file without a subject, or a warning if every file needs one."""
        text = "nothing says which subject this file holds"
        if self._request.needs_subject:
            self.drafts.report(
                "subject-unknown", Severity.WARNING, f"{text}; name it with --subject or in counterfoil.yaml"
            )
        else:
            self.drafts.report("subject-unknown", Severity.NOTICE, text)

    def _report_rivals(self) -> None:
        """Add errors for subjects that other files have as well, and for unmapped files that this one refers to."""
        for other in self._request.unmapped:
            identity = (self._path, other)
            self.drafts.report("reference-unmapped", Severity.ERROR, unmapped_text(other), identity=identity)
        for subject, others in self._request.rivals.items():
            text = rivals_text(subject, others)
            self.drafts.report("subject-taken", Severity.ERROR, text, identity=(subject, self._path, others))

    def _report_other_subject(self, earlier: ReadSchema | None) -> None:
        """Add a warning if the file had other subjects before; ``earlier`` is its earlier version, if that is known."""
        found = self._request.earlier_subjects
        if earlier is not None and earlier.path == self._path and self._request.is_by_name:
            return
        before = None if found is None else found.of(self._path, earlier)
        if before is None:
            return
        now = self._request.subjects()
        text = before.change_text(self._path, now)
        if not text:
            return
        identity = (before.names, now)
        self.drafts.report("subject-changed", Severity.WARNING, text, identity=identity, against=(before.label,))

    def findings(self) -> list[Finding]:
        """Return the findings in the order of their positions, each with its proof."""
        return sorted((self._weights.with_records(draft.finished()) for draft in self.drafts), key=_reading_order)

    def take_over(self, draft: FindingDraft, dependant: FileCheck) -> FindingDraft | None:
        """Return the finding of a dependant at its cause in this file; None if this file was judged differently."""
        schema, cause = self._candidate.schema, draft.cause
        is_alike = self._request.policy is dependant._request.policy and self._compared
        if not is_alike or schema is None or cause is None or cause.direction not in self._request.level.directions:
            return None
        element = schema.path_at(cause.steps)
        facts = [(name, show(fact)) for name, fact in cause.facts]
        found = draft.finding
        finding = replace(
            found,
            subject=self._subject,
            path=self._path,
            fingerprint=self.drafts.fingerprint(
                found.rule, found.direction, names_of(element), [print_pointer(cause.steps)], facts
            ),
            position=schema.locate(cause.steps),
            element=print_path(element),
            against=self._compared,
        )
        return FindingDraft(finding, cause, is_own=True, search=draft.search)

    def _report_invalid(self, problem: FileProblem, history: Sequence[ReadSchema]) -> None:
        before = history[0] if history else None
        was_so = before is not None and (
            before.content == self._candidate.content
            or (before.problem is not None and before.problem.text == problem.text)
        )
        text, severity = (f"{problem.text}{_WAS_SO}", Severity.WARNING) if was_so else (problem.text, Severity.ERROR)
        self.drafts.report("schema-invalid", severity, text, position=problem.position)

    def _report_missing(self, history: Sequence[ReadSchema]) -> None:
        """Add the imports that no file here has, unless the schema is invalid for that reason alone."""
        problem = self._candidate.problem
        before = {one.text for one in history[0].missing} if history else set()
        for missing in self._candidate.missing:
            if problem is None or problem.text != missing.text:
                self._report(_MISSING_IMPORT, missing.text, was_so=missing.text in before, position=missing.position)

    def _report_warnings(self, history: Sequence[ReadSchema]) -> None:
        """Add the mistakes that the language forbids and registries accept."""
        schema = self._candidate.schema
        before = {(one.rule, one.text) for one in _warnings(history[0].schema)} if history else set()
        for warning in _warnings(schema):
            if (
                warning.rule != _MISSING_IMPORT or not self._candidate.missing
            ):  # missing imports are reported with their positions
                self._report(
                    warning.rule,
                    f"{warning.text[:1].lower()}{warning.text[1:]}",
                    was_so=(warning.rule, warning.text) in before,
                    position=schema.locate(warning.pointer) if schema else None,
                    path=schema.path_at(warning.pointer) if schema else (),
                )

    def _report(self, rule: str, text: str, *, was_so: bool, position: Position | None, path: FieldPath = ()) -> None:
        """Add a warning, or an error under SOUND if it is caused by this change."""
        is_error = self._request.policy is CompatibilityPolicy.SOUND and not was_so
        self.drafts.report(
            rule,
            Severity.ERROR if is_error else Severity.WARNING,
            f"{text}{_WAS_SO if was_so else ''}",
            position=position,
            path=path,
            identity=(names_of(path), text),
        )

    def _compare(self, history: Sequence[ReadSchema]) -> FileOutcome:
        schema = self._candidate.schema
        if schema is None:
            return self._outcome(Status.SKIPPED)
        request = self._request
        versions = VersionCheck(
            schema, self.drafts, level=request.level, policy=request.policy, confirm=request.confirm
        )
        judged = [earlier for earlier in history if versions.judge(earlier)]
        self._confirmed = versions.confirmed
        self._weights.weigh(versions.weighable)
        if self._request.generated_code is not GeneratedCode.NONE:
            self._report_generated_code(history[0])
        self._compared = tuple(earlier.label for earlier in judged)
        return self._outcome(Status.COMPARED if judged else Status.SKIPPED, judged)

    def _report_move(self, earlier: ReadSchema) -> None:
        """Add a finding if the schema was in another file and that breaks generated code."""
        is_moved = earlier.path != self._path and not self._baseline.names_subjects
        if is_moved and self._request.generated_code is GeneratedCode.FILE:
            text = f"the schema was moved from {earlier.path}, so code that is generated from the file moves too"
            self.drafts.report(FILE_MOVED, Severity.ERROR, text, against=(earlier.label,))

    def _report_generated_code(self, earlier: ReadSchema) -> None:
        """Add the changes since ``earlier`` that break code which is generated from the schema."""
        schema = self._candidate.schema
        if schema is None or earlier.schema is None:
            return
        self._report_move(earlier)
        for rule, change in changes_of_generated_code(earlier.schema, schema):
            place = change.later_pointer or change.earlier_pointer[:-1]
            self.drafts.report(
                rule,
                Severity.ERROR,
                f"{change.element}: {change.text}" if change.element else change.text,
                position=schema.locate(place),
                identity=(change.kind, change.element, change.earlier, change.later),
                against=(earlier.label,),
            )

    def _outcome(self, status: Status, compared: Sequence[ReadSchema] = ()) -> FileOutcome:
        labels = tuple(earlier.label for earlier in compared)
        request = self._request
        return FileOutcome(
            self._path,
            self._subject,
            status,
            request.level,
            request.policy,
            labels,
            self._confirmed,
            owner=request.owner,
        )

    @property
    def has_sketch(self) -> bool:
        """Whether a sketch has the records of this schema's subject."""
        return self._weights.has_sketch


def _reading_order(finding: Finding) -> tuple[Position, str, str, str]:
    return finding.position or Position(0, 0), finding.rule, finding.direction or "", finding.fingerprint


def _warnings(schema: ParsedSchema | None) -> Sequence[SchemaWarning]:
    return schema.warnings() if schema else ()


def _is_same(earlier: ReadSchema, candidate: ReadSchema) -> bool:
    """Return whether nothing changed: the same texts, or, without references, texts with the same meaning."""
    if earlier.content == candidate.content:
        return True
    is_alone = len(earlier.content) == len(candidate.content) == 1
    return (
        is_alone
        and earlier.schema is not None
        and candidate.schema is not None
        and candidate.schema.is_equivalent(earlier.schema)
    )
