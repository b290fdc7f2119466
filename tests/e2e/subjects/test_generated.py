"""Random project trees and registries: all commands agree on the subjects of files, and on what has to change.

The expected answers come from a second meaning of the map and of the registry, which is written here.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk import Registry

FOLDERS = ("a", "a/deep", "b")
SUFFIXES = {".avsc": SchemaType.AVRO, ".json": SchemaType.JSON, ".schema.json": SchemaType.JSON}


class Line(NamedTuple):
    """An entry of the project: where it matches, and the subjects that it gives."""

    folder: str
    name: str  # of a file, ``*SUFFIX``, or empty for everything below the folder
    subjects: tuple[str, ...]

    @property
    def glob(self) -> str:
        return f"{self.folder}/{self.name}"

    def has(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        if not self.name:
            return path.startswith(f"{self.folder}/")
        return folder == self.folder and (name == self.name or (self.name[0] == "*" and name.endswith(self.name[1:])))

    def subjects_of(self, path: str) -> list[str]:
        folder, _, name = path.rpartition("/")
        stem, last = name.split(".")[0], folder.rpartition("/")[2]
        made = (each.replace("{stem}", stem).replace("{folder}", last) for each in self.subjects)
        return list(dict.fromkeys(made))


class Tree(NamedTuple):
    """Files with the number of their texts, the lines of the project, and what was done to each subject."""

    files: dict[str, int]
    lines: list[Line]
    history: dict[str, list[int | None]]  # the numbers of texts that were registered; None: the latest was deleted


paths = st.builds(
    lambda folder, stem, suffix: f"{folder}/{stem}{suffix}",
    st.sampled_from(FOLDERS),
    st.sampled_from(["order", "line"]),
    st.sampled_from([*SUFFIXES]),
)
lines = st.builds(
    Line,
    st.sampled_from(FOLDERS),
    st.sampled_from(["", "*.avsc", "*.json", "order.json", "line.avsc"]),
    st.sampled_from([("{stem}",), ("{folder}.{stem}",), ("one", "{folder}.{stem}"), ("{stem}", "{folder}"), ("one",)]),
)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A tree, most often one in which every file has a line and a subject of its own."""
    files = draw(st.dictionaries(paths, st.integers(0, 2), min_size=1, max_size=4))
    chosen = draw(st.lists(lines, max_size=3, unique_by=lambda line: line.glob))
    if draw(st.integers(0, 3)):
        known = {line.glob for line in chosen}
        rest = (Line(path.rpartition("/")[0], path.rpartition("/")[2], (f"own.{path}",)) for path in sorted(files))
        own = [line for line in rest if line.glob not in known]
        chosen = [*own, *chosen] if draw(st.booleans()) else [*chosen, *own]
    subjects = sorted({subject for each in map(mapped(chosen).get, files) for subject in each or ()})
    steps = st.lists(st.one_of(st.integers(0, 2), st.none()), max_size=4)
    return Tree(files, chosen, {subject: draw(steps) for subject in subjects})


class mapped(dict):  # noqa: N801 (a mapping from paths to subjects, used like a function)
    """The subjects of a path by the first line that has it."""

    def __init__(self, given: list[Line]) -> None:
        super().__init__()
        self._lines = given

    def get(self, path: str, default: Any = None) -> Any:
        line = next((each for each in self._lines if each.has(path)), None)
        return default if line is None else line.subjects_of(path)


def text_of(path: str, number: int) -> str:
    fields = [f"f{each}" for each in range(number)]
    if path.endswith(".avsc"):
        members = [{"name": each, "type": "string"} for each in fields]
        return json.dumps({"type": "record", "name": path.replace("/", "_").replace(".", "_"), "fields": members})
    return json.dumps({"type": "object", "title": path, "properties": {each: {"type": "string"} for each in fields}})


def language_of(path: str) -> SchemaType:
    return next(kind for suffix, kind in SUFFIXES.items() if path.endswith(suffix))


def play(registry: Registry, subject: str, path: str, steps: list[int | None]) -> list[int]:
    """Register and delete the texts of a file; return the numbers of the texts of the versions that are left."""
    versions: list[tuple[int, int]] = []
    last = 0
    registry.set_config(subject, "NONE")
    for step in steps:
        if step is None:
            if versions:
                registry.delete_version(subject, versions.pop()[0])
        else:
            registry.register(subject, Schema(text_of(path, step), language_of(path)))
            if step not in (number for _, number in versions):
                last += 1
                versions.append((last, step))
    return [number for _, number in versions]


def expected_of(held: list[int], number: int) -> str | None:
    """The kind of the change that a plan has for a subject with these texts and a file with this one."""
    if held and held[-1] == number:
        return None
    return "latest" if number in held else "schema"


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tree=trees())
def test_all_commands_agree(counterfoil, live_registry, tree):
    prefix = f"g{uuid4().hex[:8]}."
    with tempfile.TemporaryDirectory() as place, Registry(live_registry.url) as registry:
        folder = Path(place)
        for path, number in tree.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text_of(path, number))
        entries = [
            {"files": line.glob, "subject": [f"{prefix}{each}" for each in line.subjects]} for line in tree.lines
        ]
        project = {"registry": live_registry.url, "level": "NONE", "schemas": entries}
        (folder / "counterfoil.yaml").write_text(json.dumps(project))
        check_tree(counterfoil, registry, folder, tree, prefix)


def check_tree(counterfoil, registry, folder, tree, prefix):
    by_line = mapped(tree.lines)
    seen = {path for path in tree.files if by_line.get(path) or not path.endswith(".json") or ".schema." in path}
    subjects = {path: by_line.get(path, []) for path in seen}
    owner = {subject: path for path in sorted(subjects) for subject in subjects[path]}
    held = {subject: play(registry, prefix + subject, owner[subject], steps) for subject, steps in tree.history.items()}
    linted = counterfoil("lint", "--format", "json", folder=folder)
    assert {*linted.report["files"]} == {"counterfoil.yaml", *seen}, linted
    taken = {
        subject for subject, number in Counter(each for of in subjects.values() for each in of).items() if number > 1
    }
    rivals = {path for path, of in subjects.items() if taken & {*of}}
    assert {each["path"] for each in linted.report["findings"] if each["rule"] == "subject-taken"} == rivals
    checked = counterfoil("check", "--against", "registry", "--format", "json", folder=folder)
    files = {(each["path"], each["subject"].removeprefix(prefix)) for each in checked.report["files"] if each["mapped"]}
    assert files == {(path, subject) for path, of in subjects.items() for subject in of}, checked
    unmapped = {path for path, of in subjects.items() if not of}
    assert {each["path"] for each in checked.report["files"] if not each["mapped"]} == unmapped
    assert checked.code == (1 if rivals else 4 if unmapped or not seen else 0), checked
    fingerprints = [each["fingerprint"] for each in checked.report["findings"] if each["severity"] == "error"]
    assert len({*fingerprints}) == len(fingerprints)
    planned = counterfoil("plan", "--fail-on-changes", "--format", "json", folder=folder)
    registered = counterfoil("schema", "register", "--dry-run", "--json", folder=folder)
    if unmapped or rivals:
        assert (planned.code, registered.code) == (2, 2), planned
        return
    kinds = {subject: expected_of(held[subject], tree.files[path]) for subject, path in owner.items()}
    changes = {
        each["subject"].removeprefix(prefix): each["kind"]
        for each in planned.report["changes"]
        if each["kind"] in {"schema", "latest"}
    }
    assert changes == {subject: kind for subject, kind in kinds.items() if kind}, planned
    is_same = all(held[subject][-1:] == [tree.files[path]] for subject, path in owner.items())
    rest = [each for each in planned.report["changes"] if each["kind"] not in {"schema", "latest"}]
    assert (not changes) is is_same
    if not seen:
        assert (planned.code, registered.code) == (4, 4), planned
        return
    assert planned.code == (0 if is_same and not rest else 3), planned
    states = {each["subject"].removeprefix(prefix): each["state"] for each in json.loads(registered.out)["files"]}
    names = {None: {"unchanged"}, "latest": {"earlier version"}, "schema": {"new version", "new subject"}}
    assert states.keys() == kinds.keys()
    assert all(states[subject] in names[kind] for subject, kind in kinds.items()), registered
    assert registered.code == (3 if "latest" in kinds.values() else 0)
