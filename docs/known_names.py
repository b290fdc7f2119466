"""The names of the project's modules, and of what they define, read from their syntax trees; nothing is imported."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT: Final = Path(__file__).resolve().parents[1]
ROOMS: Final = ("schema", "pages", "sdk", "contracts", "registry", "converter")
FOLDERS: Final = (*ROOMS, "tests", "benchmarks", "examples", "deploy", "docs")

_DEFINITION: Final = re.compile(r"^(?:(?:async )?def|class) (\w+)|^(\w+)(?:: .+)? = ", re.MULTILINE)
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
    """Return the text of a file."""
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
            return has(path, parts[size:])
    return False


@cache
def plainly_defined(path: Path) -> frozenset[str]:
    """Return the names at the top of a module that its lines show, without its syntax tree, which takes longer."""
    return frozenset(name for names in _DEFINITION.findall(text_of(path)) for name in names)


def has(path: Path, parts: list[str]) -> bool:
    """Return whether a module has the name that begins ``parts``, and that name the member behind it."""
    if not parts:
        return True
    first, *rest = parts
    if not rest and first in plainly_defined(path):
        return True
    if first not in defined(path).names or not rest:
        return first in defined(path).names
    if first in defined(path).classes:
        return has_member(path, first, rest[0])
    return _is_own_or_foreign(".".join((defined(path).imported.get(first, ""), *rest)))


def has_member(path: Path, name: str, member: str) -> bool:
    """Return whether a class of a module has a member, or a base of it that is no plain one."""
    members, bases = defined(path).classes[name]
    return member in members or any(_base_has(path, base, member) for base in bases if base not in _PLAIN_BASES)


def _base_has(path: Path, base: str, member: str) -> bool:
    if base in defined(path).classes:
        return has_member(path, base, member)
    first, _, rest = base.partition(".")
    return _is_own_or_foreign(".".join(filter(None, (defined(path).imported.get(first, first), rest, member))))


def _is_own_or_foreign(name: str) -> bool:
    """Return whether a name exists; that of another project is taken to exist."""
    return exists(name) if name.startswith("counterfoil.") else True
