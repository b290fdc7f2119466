"""Names of the project's own modules, classes, functions and files exist wherever a comment or a text has them.

What a module defines is read from its syntax tree; nothing is imported.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT: Final = Path(__file__).resolve().parents[2]
ROOMS: Final = ("schema", "sdk", "contracts", "registry", "converter")
FOLDERS: Final = (*ROOMS, "tests", "benchmarks", "examples", "deploy", "docs")
# What looks like a name of ours and is none: a file, and a misspelled name whose error message is tested.
ABSENT_NAMES: Final = frozenset(
    {
        "counterfoil.schema.json",
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
_DEFINITION: Final = re.compile(r"^(?:(?:async )?def|class) (\w+)|^(\w+)(?:: .+)? = ", re.MULTILINE)
_PART: Final = r"(?:[\w.-]|<\w+>|\*)+"
_PATH: Final = re.compile(rf"(?<![\w/.~<>*{{}}@:$-])(?:{_PART}/)+(?:{_PART}|…)?")
_SOURCE: Final = re.compile(r"\.(py|rs|java|sql)$")
_COMMENT: Final = re.compile(r"^\s*(?://+!?|/?\*+)(.*)")
# The bases of classes whose members no text names.
_PLAIN_BASES: Final = frozenset({"object", "Enum", "StrEnum", "NamedTuple", "Protocol", "Generic", "TypedDict", "ABC"})


class Defined(NamedTuple):
    """What one module defines: its names, the members and the bases of its classes, and what its imports name."""

    names: frozenset[str]
    classes: dict[str, tuple[set[str], list[str]]]
    imported: dict[str, str]


@cache
def files() -> list[Path]:
    """Return all modules of the product and of the folders beside it."""
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def product() -> dict[str, Path]:
    """Return the files of the product's modules and packages by their names."""
    return {name_of(path): path for path in files() if path.relative_to(ROOT).parts[1] == "counterfoil"}


def name_of(path: Path) -> str:
    """Return the name by which a module is imported; beside the product, its path with dots."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[1:] if parts[1] == "counterfoil" else parts).removesuffix(".__init__")


def package_of(path: Path) -> list[str]:
    """Return the parts of the name of the package that a module belongs to; a package belongs to itself."""
    parts = name_of(path).split(".")
    return parts if path.name == "__init__.py" else parts[:-1]


@cache
def defined(path: Path) -> Defined:
    """Return what a module defines."""
    tree = ast.parse(text_of(path))
    names = {name for node in tree.body for name in _bound(node)}
    classes: dict[str, tuple[set[str], list[str]]] = {}
    imported: dict[str, str] = {}
    for node in statements(tree.body):
        if isinstance(node, ast.Import):
            imported |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = package_of(path)
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join((*above, *([node.module] if node.module else [])))
            imported |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
            members = {member for inner in node.body for member in _members(inner)}
            classes[node.name] = (members, [ast.unparse(base) for base in bases])
    if "__getattr__" in names:  # names that are loaded when they are used stand in a table of texts
        names |= {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return Defined(frozenset({*names, *classes, *imported}), classes, imported)


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements with those inside them."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, inner, ()))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from statements(part.body)


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement at the top of a module or of a class binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    elif isinstance(node, ast.If | ast.Try | ast.With):
        for inner in ast.iter_child_nodes(node):
            yield from _bound(inner)


def _members(node: ast.stmt) -> Iterator[str]:
    """Yield the members that a statement in a class makes, those that a method assigns included."""
    yield from _bound(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for inner in statements(node.body):
            for target in getattr(inner, "targets", [getattr(inner, "target", None)]):
                yield from (part.attr for part in getattr(target, "elts", [target]) if isinstance(part, ast.Attribute))


def exists(name: str) -> bool:
    """Return whether a dotted name of the product is a module, a name in one, or a member of a class."""
    parts = name.split(".")
    for size in range(len(parts), 1, -1):
        path = product().get(".".join(parts[:size]))
        if path is not None:
            return _has(path, parts[size:])
    return False


@cache
def plainly_defined(path: Path) -> frozenset[str]:
    """Return the names at the top of a module that its lines show, without its syntax tree, which takes longer."""
    return frozenset(name for names in _DEFINITION.findall(text_of(path)) for name in names)


def _has(path: Path, parts: list[str]) -> bool:
    """Return whether a module has the name that begins ``parts``, and that name the member behind it."""
    if not parts:
        return True
    first, *rest = parts
    if not rest and first in plainly_defined(path):
        return True
    if first not in defined(path).names or not rest:
        return first in defined(path).names
    if first in defined(path).classes:
        return _has_member(path, first, rest[0])
    return _is_own_or_foreign(".".join((defined(path).imported.get(first, ""), *rest)))


def _has_member(path: Path, name: str, member: str) -> bool:
    """Return whether a class of a module has a member, or a base of it that is no plain one."""
    members, bases = defined(path).classes[name]
    return member in members or any(_base_has(path, base, member) for base in bases if base not in _PLAIN_BASES)


def _base_has(path: Path, base: str, member: str) -> bool:
    if base in defined(path).classes:
        return _has_member(path, base, member)
    first, _, rest = base.partition(".")
    return _is_own_or_foreign(".".join(filter(None, (defined(path).imported.get(first, first), rest, member))))


def _is_own_or_foreign(name: str) -> bool:
    """Return whether a name exists; that of another project is taken to exist."""
    return exists(name) if name.startswith("counterfoil.") else True


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
    if _has(path, parts) or hasattr(builtins, parts[0]) or parts[0] in sys.stdlib_module_names:
        return True
    return len(parts) == 1 and any(_has_member(path, each, parts[0]) for each in defined(path).classes)


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
