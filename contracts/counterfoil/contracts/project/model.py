"""A project as its file counterfoil.yaml declares it: settings, the files of each subject, and their globs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from counterfoil.contracts.project.languages import (
    AGREEMENT_SUFFIXES,
    is_plain,
    is_yaml,
    looks_like_schema,
    stem_of,
    subject_in_name,
)
from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.model import Metadata
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.contracts.findings import CheckGate, FailOn
    from counterfoil.contracts.project.associations import TopicAssociation
    from counterfoil.schema.rest.subjects import Mode


# The globs of project files: ``*`` and ``?`` inside one step of a path, ``**`` for any number of folders.

_STAR: Final = "\0"
"""Stands for a star in a class of characters, which is none of any number of characters."""


def is_match(path: str, globs: Iterable[str]) -> bool:
    """Return whether ``path`` matches one of ``globs``; a glob that ends in ``/`` matches everything below the folder.

    >>> is_match("a/b/order.avsc", ["a/**/*.avsc"]), is_match("a/order.avsc", ["a/**/*.avsc"]), is_match("a/b", ["*"])
    (True, True, False)
    """
    return any(_pattern(glob).fullmatch(path) for glob in globs)


def says_suffix(path: str, globs: Iterable[str]) -> bool:
    """Return whether one of ``globs`` that match ``path`` names the file, or the end of its name.

    >>> says_suffix("a/order.json", ["a/"]), says_suffix("a/order.json", ["a/*.json"]), says_suffix("x.txt", ["x.*"])
    (False, True, False)
    """
    suffix = posixpath.splitext(path)[1]
    return any(_ends_in(glob.rpartition("/")[2], suffix) and is_match(path, [glob]) for glob in globs)


def _ends_in(last_step: str, suffix: str) -> bool:
    if not last_step:
        return False
    return not set(last_step).intersection("*?[") or (bool(suffix) and last_step.endswith(suffix))


@cached_if_short(1024, longest=500)
def _pattern(glob: str) -> re.Pattern[str]:
    steps = f"{glob}**".split("/") if glob.endswith("/") else glob.split("/")
    return re.compile(_path([step for step in steps if step != "."]), re.DOTALL)


def _path(steps: list[str]) -> str:
    """Return the expression of all steps.

    What is between two ``**`` is matched at the first folders where it fits and not tried at others (a group with
    ``?>``): each later place leaves fewer folders for the rest. So a search takes no more than the product of the
    lengths of the glob and the path. :func:`_step` does the same inside a step.
    """
    if not steps:
        return ""
    parts: list[list[str]] = [[]]
    for step in steps[:-1]:
        if step == "**":
            parts.append([])
        else:
            parts[-1].append(_step(step) + "/")
    last = ".+" if steps[-1] == "**" else _step(steps[-1])
    first, *between = ["".join(part) for part in parts]
    if not between:
        return first + last
    tried_once = "".join(f"(?>(?:[^/]+/)*?{part})" for part in between[:-1] if part)
    if steps[-1] == "**":
        return f"{first}{tried_once}(?>(?:[^/]+/)*?{between[-1]}){last}"
    return f"{first}{tried_once}(?:[^/]+/)*{between[-1]}{last}"


def _step(step: str) -> str:
    stars = re.split(r"\*+", re.sub(r"\[!?\]?[^\]]*\]", lambda found: found[0].replace("*", _STAR), step))
    texts = [_text(text.replace(_STAR, "*")) for text in stars]
    if len(texts) == 1:
        return texts[0]
    first, *between, last = texts
    return first + "".join(f"(?>[^/]*?{text})" for text in between) + f"[^/]*{last}"


def _text(text: str) -> str:
    return "".join(map(_piece, re.split(r"(\?|\[!?\]?[^\]]*\])", text)))


def _piece(piece: str) -> str:
    if piece == "?":
        return "[^/]"
    if len(piece) > 1 and piece.startswith("["):
        inner = piece[1:-1]
        negated, inner = ("^", inner[1:]) if inner.startswith("!") else ("", inner)
        negated, inner = (f"{negated}/", inner) if negated else ("", inner)
        return "[{}{}]".format(negated, inner.replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^"))
    return re.escape(piece)


# A project, as its file ``counterfoil.yaml`` declares it.
#
# Paths are relative to the folder of that file, with ``/``.

PROJECT_FILE_NAME: Final = "counterfoil.yaml"
PLACEHOLDERS: Final = ("stem", "name", "folder")
"""What a subject may contain in braces: the file's name without suffix, the schema's name, the folder's name."""
PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")

_S = TypeVar("_S", "ProjectSettings", "SubjectTerms")


def _completed(own: _S, other: _S) -> _S:
    """Return ``own``, with the values of ``other`` where its own are None."""
    return replace(
        other, **{each.name: value for each in fields(own) if (value := getattr(own, each.name)) is not None}
    )


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """How files are checked; a setting is None where the file does not have it.

    ``owner`` is the team that is responsible, ``registry`` the address of the registry with the subjects; ``gate``
    says whether the compatibility level or the consumers decide.
    """

    level: CompatibilityLevel | None = None
    policy: CompatibilityPolicy | None = None
    fail_on: FailOn | None = None
    owner: str | None = None
    registry: str | None = None
    gate: CheckGate | None = None

    def or_else(self, other: ProjectSettings) -> ProjectSettings:
        """Return these settings, completed by those of ``other`` where they are None."""
        return _completed(self, other)


@dataclass(frozen=True, slots=True)
class SubjectTerms:
    """How the schemas of a subject are registered; None: the project does not determine it.

    ``normalize`` lets the registry normalize them, ``metadata`` are the metadata that they have at least.
    """

    normalize: bool | None = None
    metadata: Metadata | None = None

    def or_else(self, other: SubjectTerms) -> SubjectTerms:
        """Return these terms, completed by those of ``other`` where they are None."""
        return _completed(self, other)


class DeclaredSubject(NamedTuple):
    """A subject as an entry of ``schemas`` writes it, with ``{placeholders}``, and the terms that it has of its own."""

    template: str
    terms: SubjectTerms = SubjectTerms()


class NamedSubject(NamedTuple):
    """A subject of a file, and the terms under which its schemas are registered."""

    name: str
    terms: SubjectTerms = SubjectTerms()


@dataclass(frozen=True, slots=True)
class SchemaLine:
    """One entry of ``schemas``: the files that match one of the globs ``files``.

    ``subjects`` are the subjects of each of them; without any, it is the file's name if that ends in ``-key`` or
    ``-value``. ``terms`` apply to all of these subjects. ``is_part`` says that the files have no subject, since other
    schemas refer to them. ``position`` is the place of the entry in the file. ``mode``, ``aliases`` and
    ``associations`` are what `counterfoil plan` gives the subject.
    """

    files: tuple[str, ...]
    settings: ProjectSettings
    position: Position
    subjects: tuple[DeclaredSubject, ...] = ()
    terms: SubjectTerms = SubjectTerms()
    is_part: bool = False
    mode: Mode | None = None
    aliases: tuple[str, ...] = ()
    associations: tuple[TopicAssociation, ...] = ()


class FileMapping(NamedTuple):
    """The project's declarations about one file: the line that maps it, its settings, its subjects; a part has none."""

    line: SchemaLine
    settings: ProjectSettings
    subjects: tuple[NamedSubject, ...] = ()

    @property
    def subject(self) -> str | None:
        """The first of the subjects; None without one."""
        return self.subjects[0].name if self.subjects else None


@dataclass(frozen=True, slots=True)
class IgnoredRule:
    """A rule whose findings are not reported, in the files that match ``files`` (empty: in all), and the reason."""

    rule: str
    reason: str
    position: Position
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AcceptedFinding:
    """One finding that someone answers for, by its fingerprint, until the end of the day ``until``, in UTC.

    ``migration`` is the path of the file of a converter, empty without one.
    """

    fingerprint: str
    owner: str
    reason: str
    until: date
    position: Position
    migration: str = ""


@dataclass(frozen=True, slots=True)
class StaleEntry:
    """An entry that has no effect any more: ``text`` is why, as one sentence, ``position`` its place in the file.

    ``fingerprint`` is that of the finding that it accepts.
    """

    fingerprint: str
    text: str
    position: Position
    is_expired: bool


@dataclass(frozen=True, slots=True)
class Project:
    """A project: its settings, the lines that map files, the globs of its contract files, ignored and accepted.

    ``consumers`` are the globs of the product files whose reads are compared with contracts.
    """

    settings: ProjectSettings = ProjectSettings()
    schemas: tuple[SchemaLine, ...] = ()
    contracts: tuple[str, ...] = ()
    ignored: tuple[IgnoredRule, ...] = ()
    accepted: tuple[AcceptedFinding, ...] = ()
    managed_by: str | None = None
    consumers: tuple[str, ...] = ()

    def mapping(self, path: str, *, name: str | None = None) -> FileMapping | None:
        """Return the declarations of the first line that matches ``path``; None where no line maps it.

        ``name`` is the full name of the schema in the file, for subjects that contain it.
        """
        line = self.line_of(path)
        if line is None:
            return None
        return FileMapping(line, line.settings.or_else(self.settings), _subjects(line, path, name))

    def line_of(self, path: str) -> SchemaLine | None:
        """Return the first line that matches ``path``; None where no line maps it."""
        return next((each for each in self.schemas if is_match(path, each.files)), None)

    def may_be_schema(self, path: str) -> bool:
        """Return whether a line maps ``path``, whose name does not show a schema, as one.

        It is a file that a glob names by the end of its name, or JSON that any glob matches.
        """
        if path.endswith(AGREEMENT_SUFFIXES) or posixpath.basename(path) == PROJECT_FILE_NAME:
            return False
        line = self.line_of(path)
        return line is not None and (is_plain(path) or says_suffix(path, line.files))

    def is_schema(self, path: str, data: bytes) -> bool:
        """Return whether a line maps the file at ``path`` as a schema; ``data`` are its bytes.

        JSON that only a glob for any name matches, such as ``schemas/``, must look like a schema.
        """
        if not self.may_be_schema(path):
            return False
        line = self.line_of(path)
        return (line is not None and says_suffix(path, line.files)) or looks_like_schema(data)

    def is_agreement(self, path: str) -> bool:
        """Return whether ``path`` is one of the project's contract or product files."""
        return is_match(path, (*self.contracts, *self.consumers))

    @property
    def gates(self) -> frozenset[CheckGate | None]:
        """The gates that are set, for all files or for some."""
        return frozenset(each.gate for each in (self.settings, *(line.settings for line in self.schemas)))

    def is_consumer(self, path: str) -> bool:
        """Return whether ``path`` is one of the product files whose reads are compared with contracts."""
        return is_match(path, self.consumers)

    def ignores(self, rule: str, path: str) -> IgnoredRule | None:
        """Return the entry because of which findings of ``rule`` at ``path`` are not reported; None without one."""
        found = (each for each in self.ignored if each.rule == rule and (not each.files or is_match(path, each.files)))
        return next(found, None)

    def acceptance(self, fingerprint: str, *, on: date) -> AcceptedFinding | None:
        """Return the entry that accepts a finding on a day; None where there is none or all have expired."""
        return next((each for each in self.accepted if each.fingerprint == fingerprint and on <= each.until), None)

    def stale(self, fingerprints: Collection[str], *, on: date) -> tuple[StaleEntry, ...]:
        """Return the accepted findings that have expired, or whose fingerprint is not among ``fingerprints``."""
        found = (_stale(each, fingerprints, on) for each in self.accepted)
        return tuple(each for each in found if each is not None)

    def within(self, folder: str) -> Project:
        """Return the same project with paths relative to a folder around its own, which is at ``folder`` there."""
        if not folder:
            return self

        def moved(globs: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(posixpath.join(re.sub(r"([*?\[])", r"[\1]", folder), each) for each in globs)

        return replace(
            self,
            schemas=tuple(replace(each, files=moved(each.files)) for each in self.schemas),
            contracts=moved(self.contracts),
            consumers=moved(self.consumers),
            ignored=tuple(replace(each, files=moved(each.files)) for each in self.ignored),
        )


def _stale(accepted: AcceptedFinding, fingerprints: Collection[str], on: date) -> StaleEntry | None:
    who = f"the accepted finding {accepted.fingerprint} (owner {accepted.owner})"
    if on > accepted.until:
        return StaleEntry(
            accepted.fingerprint, f"{who} expired on {accepted.until}", accepted.position, is_expired=True
        )
    if accepted.fingerprint not in fingerprints:
        why = f"{who} is not reported any more, so the entry can be removed"
        return StaleEntry(accepted.fingerprint, why, accepted.position, is_expired=False)
    return None


def _subjects(line: SchemaLine, path: str, name: str | None) -> tuple[NamedSubject, ...]:
    """Return the subjects of a file; none if the parts of one of them are not known."""
    if line.is_part:
        return ()
    if not line.subjects:
        own = subject_in_name(path)
        return () if own is None else (NamedSubject(own, line.terms),)
    known = {"stem": stem_of(path), "name": name, "folder": posixpath.basename(posixpath.dirname(path))}
    found: dict[str, NamedSubject] = {}
    for declared in line.subjects:
        if any(not known.get(word) for word in PLACEHOLDER.findall(declared.template)):
            return ()
        subject = PLACEHOLDER.sub(lambda part: str(known[part[1]]), declared.template)
        found.setdefault(subject, NamedSubject(subject, declared.terms.or_else(line.terms)))
    return tuple(found.values())


def agreement_test(project: Project | None, named: Sequence[str]) -> Callable[[str], bool]:
    """Return the test for contract and product files: by suffix, by the project, or because they were named."""

    def test(path: str) -> bool:
        if path.endswith(AGREEMENT_SUFFIXES):
            return True
        if not is_yaml(path) or path.rpartition("/")[2] == PROJECT_FILE_NAME:
            return False
        return path in named or (project is not None and project.is_agreement(path))

    return test
