"""The project file ``counterfoil.yaml`` for the schema files that a repository has, with the reasons as comments."""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from counterfoil.contracts.languages import TYPE_BY_SUFFIX, language_of, stem_of, subject_in_name
from counterfoil.contracts.linting.agreements import below
from counterfoil.schema.agreements.model import Contract
from counterfoil.schema.counting import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterfoil.contracts.tree import SchemaTree
    from counterfoil.schema.agreements.model import Agreement


@dataclass(frozen=True, slots=True)
class Found:
    """What a repository has: its schema files, and the subjects that contracts give them.

    ``parts`` has the files that other schema files refer to, and that no contract names.
    """

    schemas: tuple[str, ...]
    subject_by_path: Mapping[str, str]
    parts: frozenset[str]

    def below(self, folder: str) -> Found:
        """Return what is below a folder, with paths relative to it."""
        if not folder:
            return self
        start = f"{folder}/"

        def inside(paths: Iterable[str]) -> Iterator[str]:
            return (path.removeprefix(start) for path in paths if path.startswith(start))

        subjects = {path: subject for path, subject in self.subject_by_path.items() if path.startswith(start)}
        return Found(
            tuple(inside(self.schemas)),
            {path.removeprefix(start): subject for path, subject in subjects.items()},
            frozenset(inside(self.parts)),
        )


class Line(NamedTuple):
    """One entry of ``schemas`` with the comment above it; ``is_guess``: nothing but its name says the subject."""

    files: tuple[str, ...]
    comment: str
    subject: str | None = None
    is_part: bool = False
    is_guess: bool = False


def look(tree: SchemaTree, agreements: Mapping[str, Agreement | None], *, others: Iterable[str] = ()) -> Found:
    """Return what a repository has; ``agreements`` are its contract and product files by path, None: an invalid one.

    ``others`` are schema files whose names do not show that they are. So are those that contracts refer to.
    """
    subjects: dict[str, str] = {}
    referred = {target for path in tree.paths for target in tree.referred(path).values()}
    for path, agreement in agreements.items():
        if isinstance(agreement, Contract):
            for promise in agreement.promises:
                subjects.update({below(path, promise.schema.url): promise.subject} if promise.schema else {})
                if promise.key is not None and promise.key.schema is not None:
                    subjects[below(path, promise.key.schema.url)] = promise.key.subject or f"{promise.topic}-key"
        elif agreement is not None:
            links = (each.reader_schema for each in agreement.expectations)
            referred |= {below(path, link.url) for link in links if link is not None}
    linked = {path for path in (*subjects, *referred) if tree.has(path, language_of(path))}
    schemas = tuple(sorted({*tree.paths, *others, *linked}))
    known_parts = (path for path in schemas if path in referred and path not in subjects)
    parts = frozenset(path for path in known_parts if subject_in_name(path) is None)
    known = {path: subject for path, subject in subjects.items() if path in schemas}
    return Found(schemas, known, parts)


def lines_of(found: Found) -> list[Line]:
    """Return the entries: files with a subject of their own, parts, then one entry for each folder and language."""
    lines = [
        Line((path,), "The subject is that of its contract.", subject)
        for path, subject in found.subject_by_path.items()
        if subject != subject_in_name(path)
    ]
    parts = sorted(found.parts)
    if parts:
        lines.append(Line(tuple(parts), "Other files refer to these, so they have no subject.", is_part=True))
    lines += _lines_of_rivals(found, {path for line in lines for path in line.files})
    mapped = {path for line in lines for path in line.files}
    rest = sorted((path for path in found.schemas if path not in mapped), key=_place)
    for (folder, suffix), group in groupby(rest, key=_place):
        lines += _folder_lines(posixpath.join(folder, f"*{suffix}") if suffix else None, list(group))
    return lines


def _lines_of_rivals(found: Found, mapped: set[str]) -> list[Line]:
    """Return an entry for each file whose subject by its name another file has as well."""
    taken = Counter(found.subject_by_path.values())
    guesses = {path: _guess(path) for path in found.schemas if path not in mapped and path not in found.subject_by_path}
    number = taken + Counter(guesses.values())
    rivals = [path for path, guess in guesses.items() if number[guess] > 1]
    dotted = {path: _guess(path.replace("/", ".")) for path in rivals}
    times = number + Counter(each for path, each in dotted.items() if each != guesses[path])
    comment = "The subject is a guess: other files have the same name."
    return [
        Line((path,), comment, each if times[each] == 1 else f"{path.replace('/', '.')}-value", is_guess=True)
        for path, each in dotted.items()
    ]


def _guess(path: str) -> str:
    return subject_in_name(path) or f"{stem_of(path)}-value"


def _place(path: str) -> tuple[str, str]:
    suffix = next((each for each in TYPE_BY_SUFFIX if path.endswith(each)), "")
    return posixpath.dirname(path), suffix


def _folder_lines(glob: str | None, paths: list[str]) -> list[Line]:
    """Return the entries for the files of a folder; without a ``glob`` they are named one by one."""
    named = [path for path in paths if subject_in_name(path) is not None]
    unnamed = [path for path in paths if path not in named]
    lines = []
    if named:
        lines.append(
            Line(
                (glob,) if glob is not None and not unnamed else tuple(named),
                f"{counted(len(named), 'file')} named after the subject, which ends in -key or -value.",
            )
        )
    if unnamed:
        comment = f"{counted(len(unnamed), 'file')}; the subject is a guess: the topic may have another name."
        lines.append(Line((glob,) if glob is not None else tuple(unnamed), comment, "{stem}-value", is_guess=True))
    return lines


def project_text(found: Found, *, registry: str | None = None, owner: str | None = None) -> str:
    """Return the text of the project file."""
    lines = [
        "# counterfoil.yaml: which schema file belongs to which subject, and how its changes are checked.",
        "# The commands of counterfoil read it. Paths are relative to its folder; * is any name, ** any folders.",
        "",
        "# What a change must keep; an entry of schemas may have a level of its own. Without it: the registry's level,",
        "# and BACKWARD (new readers read old records) where nothing else is known.",
        "# level: BACKWARD",
        "# The least severity that makes a check fail: error, warning or never.",
        "fail-on: error",
        *_setting("owner", owner, "The team that is responsible.", example="my-team"),
        *_setting("registry", registry, "The registry that has the subjects.", example="http://localhost:8081"),
        "",
        "# The first entry that matches a file counts. A file that no entry matches fails a check against a registry.",
        "# In a subject, {stem} is the file's name without suffix, {name} the schema's full name, {folder} its folder.",
        "schemas:",
        *(text for line in lines_of(found) for text in _entry(line)),
        "",
        "# Rules whose findings are not reported, each with the reason, and single findings that someone answers for:",
        "# ignore:",
        "#   - {rule: schema-removed, files: legacy/, reason: the topics are retired}",
        "# accepted:",
        "#   - {fingerprint: 3f9a1c07be12, owner: my-team, reason: no consumer reads it, until: 2027-03-31}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _setting(key: str, value: str | None, comment: str, *, example: str) -> Iterable[str]:
    yield f"# {comment}"
    yield f"# {key}: {example}" if value is None else f"{key}: {_quoted(value)}"


def _entry(line: Line) -> Iterable[str]:
    yield f"  # {line.comment}"
    if len(line.files) == 1:
        yield f"  - files: {_quoted(line.files[0])}"
    else:
        yield "  - files:"
        yield from (f"      - {_quoted(path)}" for path in line.files)
    if line.is_part:
        yield "    part: true"
    if line.subject is not None:
        yield f"    subject: {_quoted(line.subject)}"


def _quoted(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))
