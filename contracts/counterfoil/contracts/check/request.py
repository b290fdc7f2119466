"""The request for a check: its files, the baseline and the rules of each comparison, and records of topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.baselines import Baseline
from counterfoil.contracts.findings import TopicRecords
from counterfoil.contracts.project import ReadSchema
from counterfoil.contracts.project.languages import subject_in_name
from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Difference
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.table import find_changes, parse_schema
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.contracts.project.model import Project
    from counterfoil.schema.sketch import PartSketch, SchemaSketch, TopicSketch, WriterSchema
    from counterfoil.schema.sketch.model import Count


# How many records of a topic trigger a finding, as the sketch of the topic shows it.


@dataclass(frozen=True, slots=True)
class SketchedTopics:
    """The sketches that findings are weighed with.

    With ``ignores_untriggered``, a finding that no record triggers is a notice, and one that only records of a schema
    trigger which was not compared is an error.
    """

    sketches: tuple[TopicSketch, ...]
    ignores_untriggered: bool = False

    def find_part(self, subject: str, schema: ParsedSchema) -> tuple[PartSketch, TopicSketch] | None:
        """Return the keys or values of a subject; if no sketch has it, those of a record with the same name."""
        parts = [(name, part, sketch) for sketch in self.sketches for name, part in reversed(sketch.parts())]
        for name, part, sketch in parts:
            if name == subject:
                return part, sketch
        for _, part, sketch in parts:
            if schema.name and any(_is_named_alike(each, schema) for each in part.by_writer.values()):
                return part, sketch
        return None

    def weigh(
        self,
        subject: str,
        schema: ParsedSchema,
        *,
        policy: CompatibilityPolicy,
        fingerprint: Callable[[Difference], str],
    ) -> WeighedSchema | None:
        """Return the schema weighed with the records of its subject; None if no sketch has them."""
        found = self.find_part(subject, schema)
        if found is None:
            return None
        part, sketch = found
        return WeighedSchema(schema, part, policy=policy, fingerprint=fingerprint, is_sample=sketch.is_sample)


@dataclass(frozen=True, slots=True)
class Unreported:
    """A finding about records of the topic that the comparison with the earlier versions does not have.

    ``writer`` is the id of their schema, ``count`` how many of them trigger it; None if it is not known.
    """

    writer: str
    records: int
    difference: Difference
    count: Count | None

    @property
    def text(self) -> str:
        """The finding in a sentence."""
        written = f"{counted(self.records, 'record', spec=',')} in the topic {'was' if self.records == 1 else 'were'}"
        said = self.difference.sentence.render(is_start=False)
        return f"{written} written with schema id {self.writer}, which was not compared: {said}; {_count_text(self)}"


def _count_text(found: Unreported) -> str:
    if found.count is None:
        return "the sketch cannot say how many of them cannot be read"
    return f"{'' if found.count.is_exact else 'at most '}{found.count.most:,} of them cannot be read"


class WeighedSchema:
    """One schema that is checked, weighed with the records of its subject."""

    def __init__(
        self,
        schema: ParsedSchema,
        part: PartSketch,
        *,
        policy: CompatibilityPolicy,
        fingerprint: Callable[[Difference], str],
        is_sample: bool,
    ) -> None:
        self._part = part
        self._is_sample = is_sample
        self._counts: dict[str, list[Count | None]] = {}
        self._found: list[tuple[str, Unreported]] = []
        self._unknown = 0
        self.total = part.records
        from counterfoil.schema.sketch import weigh

        for name, sketch in part.by_writer.items():
            try:
                weights = weigh(schema, _parsed(sketch.writer), sketch, policy=policy)
            except InvalidSchema:
                self._unknown += sketch.records
                continue
            for weight in weights:
                known_as = fingerprint(weight.difference)
                self._counts.setdefault(known_as, []).append(weight.count)
                self._found.append((known_as, Unreported(name, sketch.records, weight.difference, weight.count)))

    def records(self, fingerprint: str, *, is_known: bool) -> TopicRecords:
        """Return how many records trigger a finding.

        If not ``is_known``, it is not only about the records of this schema, and the sketch cannot say.
        """
        total, unread = self.total, self._part.unread + self._unknown
        counts = self._counts.get(fingerprint, [])
        if not is_known or self._unknown or None in counts:
            return TopicRecords(None, total, unread=unread, is_sample=self._is_sample)
        known = [each for each in counts if each is not None]
        triggering = min(sum(each.most for each in known), total)
        is_exact = all(each.is_exact for each in known)
        return TopicRecords(triggering, total, is_exact=is_exact, unread=unread, is_sample=self._is_sample)

    def unreported(self, reported: Collection[str]) -> Iterator[Unreported]:
        """Yield the findings that some records trigger, once each, but none with one of these fingerprints."""
        seen: set[str] = set()
        for fingerprint, found in self._found:
            is_harmless = found.count is not None and found.count.most == 0
            if fingerprint not in reported and fingerprint not in seen and not is_harmless:
                seen.add(fingerprint)
                yield found


@cache
def _parsed(writer: WriterSchema) -> ParsedSchema:
    return parse_schema(writer.text, writer.schema_type, references=writer.references, validation=Validation.LENIENT)


def _is_named_alike(sketch: SchemaSketch, schema: ParsedSchema) -> bool:
    try:
        return sketch.writer.schema_type is schema.schema_type and _parsed(sketch.writer).name == schema.name
    except InvalidSchema:
        return False


# How one schema file is checked: its earlier subjects and versions, and what counts as a break of generated code.

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
    """What must stay as it is for programs with generated code."""

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
    """Return whether an option of the file says what generated code is called."""
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
    """The level and policy of a file, and what else determines its check.

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
