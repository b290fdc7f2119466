"""Names of the project's own modules, classes, functions and files exist wherever a comment or a text has them.

``docs/known_names.py`` says which names there are; ``docs/check_names.py`` looks at the pages.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import tokenize
from functools import cache
from typing import TYPE_CHECKING, Final

import pytest
from known_names import FOLDERS, ROOMS, ROOT, defined, exists, files, has, has_member, name_of, package_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# What looks like a name of ours and is none: a file, a logger, and misspelled names whose error messages are tested.
ABSENT_NAMES: Final = frozenset(
    {
        "counterfoil.schema.json",
        "counterfoil.schema.witness",
        "counterfoil.sdk.Regsitry",
        "counterfoil.sdk.there",
        "counterfoil.sdk.there.found",
        "counterfoil.sdk.there.lost",
        "counterfoil.sdk.there.missing",
    }
)
# The files of other projects that comments name as sources.
FOREIGN_PATHS: Final = frozenset({"karapace/core/auth.py", "java/ConfluentClient.java"})

_ROLE: Final = re.compile(r":(mod|class|func|meth|data|attr):`(?:[^`<]*<)?~?([^`<>]+)>?`")
_OWN: Final = re.compile(rf"\bcounterfoil\.(?:{'|'.join(ROOMS)})\b(?:\.[A-Za-z_]\w*)*(?=(\{{)?)")
_IMPORT: Final = re.compile(rf"\bfrom (counterfoil\.(?:{'|'.join(ROOMS)})[\w.]*) import (\w+(?:, \w+)*)")
_PART: Final = r"(?:[\w.-]|<\w+>|\*)+"
_PATH: Final = re.compile(rf"(?<![\w/.~<>*{{}}@:$-])(?:{_PART}/)+(?:{_PART}|…)?")
_SOURCE: Final = re.compile(r"\.(py|rs|java|sql)$")
_COMMENT: Final = re.compile(r"^\s*(?://+!?|/?\*+)(.*)")


def role_exists(path: Path, kind: str, name: str) -> bool:
    """Return whether what a role names exists: by its whole name, from the module's package, or in the module."""
    if name.startswith("."):
        package = package_of(path)
        below = name.lstrip(".")
        return exists(".".join((*package[: len(package) + 1 - (len(name) - len(below))], below)))
    parts = name.removesuffix("()").split(".")
    if parts[0] == "counterfoil":
        return exists(".".join(parts))
    if kind == "mod":  # of the tests and tools: a name below some folder of theirs
        return any(f".{name_of(each)}".endswith(f".{name}") for each in files())
    if has(path, parts) or hasattr(builtins, parts[0]) or parts[0] in sys.stdlib_module_names:
        return True
    return len(parts) == 1 and any(has_member(path, each, parts[0]) for each in defined(path).classes)


@cache
def paths() -> str:
    """Return the paths of the files and folders of the repository, each with a slash before and a line end behind."""
    found = {path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*")}
    return "\n".join(f"/{path}" for path in sorted(found) if "__pycache__" not in path.parts) + "\n"


def is_of_repository(path: str) -> bool:
    """Return whether a text that looks like a path is one of ours: a source file, or below a folder of FOLDERS."""
    first, _, rest = path.partition("/")
    last = path.rpartition("/")[2]
    is_folder = first in FOLDERS and bool(rest) and ("." not in last or first == "docs")
    return (bool(_SOURCE.search(path)) or is_folder) and path not in FOREIGN_PATHS


def path_exists(path: str) -> bool:
    """Return whether the paths of some files end with ``path``, in which ``*``, ``…`` and ``<name>`` are any names.

    A decision may be named by its number alone: ``docs/decisions/0036``.
    """
    parts = re.split(r"(<\w+>|\*|…)", path.rstrip("/"))
    pattern = "".join("[^/\n]+" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    rest = "-[^/\n]+" if re.fullmatch(r"docs/decisions/\d+", path) else ""
    return re.search(rf"/{pattern}{rest}\n", paths()) is not None


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments and the docstrings of a file, with their lines."""
    if path.suffix != ".py":
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if comment := _COMMENT.match(line):
                yield number, comment[1]
        return
    with path.open("rb") as file:
        tokens = tokenize.tokenize(file.readline)
        yield from ((token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT)
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from enumerate(node.value.value.split("\n"), node.lineno)


def _at(path: Path, place: int) -> str:
    return f"{path.relative_to(ROOT)}:{text_of(path).count(chr(10), 0, place) + 1}"


def missing_roles() -> Iterator[tuple[str, str]]:
    """Yield what roles name that does not exist, with its place."""
    for path in files():
        for match in _ROLE.finditer(text_of(path)):
            if not role_exists(path, *match.groups()):
                yield _at(path, match.start()), match[2]


def missing_names() -> Iterator[tuple[str, str]]:
    """Yield the dotted names of the product that do not exist, in code, comments and texts, with their places."""
    for path in files():
        for match in _OWN.finditer(text_of(path)):
            # a name that a formatted text continues (`counterfoil.sdk.serde.{name}`) is known up to its last dot
            name = match[0].rpartition(".")[0] if match[1] else match[0]
            if name not in ABSENT_NAMES and name != "counterfoil" and not exists(name):
                yield _at(path, match.start()), name


def missing_imports() -> Iterator[tuple[str, str]]:
    """Yield what import statements import that does not exist, those of programs in texts included."""
    for path in files():
        for match in _IMPORT.finditer(text_of(path)):
            for name in match[2].split(", "):
                if not exists(f"{match[1]}.{name}"):
                    yield _at(path, match.start()), f"{match[1]}.{name}"


def missing_made_names() -> Iterator[tuple[str, str]]:
    """Yield the names that do not exist of those that comprehensions make: ``f"counterfoil.{name}" for name in …``."""
    for path in files():
        if not re.search(r'f"counterfoil\.[\w.]*\{', text_of(path)):
            continue
        tree = ast.parse(text_of(path))
        lists = {
            target.id: strings_in(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp) and isinstance(node.elt, ast.JoinedStr):
                listed = node.generators[0].iter
                values = lists.get(listed.id, []) if isinstance(listed, ast.Name) else strings_in(listed)
                for name in (_filled(node.elt, value) for value in values):
                    if _OWN.fullmatch(name) and not exists(name):
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", name


def strings_in(node: ast.expr) -> list[str]:
    """Return the texts that a tuple, list or set lists; nothing for another expression."""
    listed = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
    return [each.value for each in listed if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def _filled(text: ast.JoinedStr, value: str) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else value for part in text.values)


def missing_paths() -> Iterator[tuple[str, str]]:
    """Yield the paths in comments and docstrings that no file and no folder has, with their places."""
    others = (path for room in ROOMS for suffix in ("rs", "java") for path in (ROOT / room).rglob(f"*.{suffix}"))
    for path in (*files(), *others):
        if not any(is_of_repository(match[0].rstrip(".")) for match in _PATH.finditer(text_of(path))):
            continue
        for line, prose in prose_of(path):
            for match in _PATH.finditer(prose):
                named = match[0].rstrip(".")
                if is_of_repository(named) and not path_exists(named):
                    yield f"{path.relative_to(ROOT)}:{line}", named


@pytest.mark.slow
@pytest.mark.parametrize("missing", [missing_roles, missing_names, missing_imports, missing_made_names, missing_paths])
def test_what_texts_name_exists(missing: Callable[[], Iterator[tuple[str, str]]]):
    assert list(missing()) == []


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        ("schema.model.RuleSet", True),
        ("sdk.AvroSerializer", True),  # by a table of names
        ("sdk.client.asynchronous.AsyncRegistry.close", True),
        ("schema.modle", False),
        ("schema.model.RulesSet", False),
        ("schema.model.RuleSet.no_such_member", False),
    ],
)
def test_names_are_found_where_they_are_defined(name: str, is_there: bool):  # noqa: FBT001 - a parameter of a test
    assert exists(f"counterfoil.{name}") == is_there


def test_paths_are_found_from_any_folder():
    assert path_exists("languages/<language>/marks.py")
    assert path_exists("sdk/accelerator/src/")
    assert not path_exists("languages/<language>/no_such_module.py")
    assert not is_of_repository("application/json")
