"""The size and the shape of the product's code: ``python tests/architecture/structure.py`` prints the figures.

`make check` prints them, and :mod:`test_structure` holds those that may not become worse.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
ROOMS: Final = ("schema", "pages", "sdk", "contracts", "registry", "converter")
_ANY: Final = re.compile(r"\bAny\b")
_PUBLIC_CLASS: Final = re.compile(r"^class ([^_\W]\w*)", re.MULTILINE)
_AVRO: Final = "counterfoil.schema.languages.avro."
_AVRO_TYPES: Final = {f"Avro{kind}" for kind in ("Array", "Enum", "Fixed", "Map", "Primitive", "Record", "Union")}


class Module(NamedTuple):
    """One module of the product: its name and its text."""

    name: str
    text: str

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count("\n")

    @property
    def import_lines(self) -> int:
        """The lines of its import statements, those in functions and for type hints included."""
        statements = (node for node in ast.walk(ast.parse(self.text)) if isinstance(node, ast.Import | ast.ImportFrom))
        return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in statements)

    @property
    def public_classes(self) -> list[str]:
        """The names of its public classes: a line of a text that begins like one would count, too."""
        return _PUBLIC_CLASS.findall(self.text)


@cache
def modules() -> list[Module]:
    """Return all modules of the product, in the order of their names."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room / "counterfoil").rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            name = ".".join(path.relative_to(ROOT / room).with_suffix("").parts)
            found.append(Module(name, text))
    return found


def repeated_class_names(found: list[Module]) -> dict[str, int]:
    """Return the names that more than one public class has, and how many have it."""
    names = Counter(name for module in found for name in module.public_classes)
    return {name: count for name, count in sorted(names.items()) if count > 1}


def dispatches_on_avro(module: Module) -> int:
    """Return how many functions decide by the type of a node of Avro's type tree, which is Avro's own matter."""
    if "Avro" not in module.text:
        return 0
    functions = (node for node in ast.walk(ast.parse(module.text)) if isinstance(node, ast.FunctionDef))
    return sum(any(map(_decides_on_avro, ast.walk(each))) for each in functions)


def _decides_on_avro(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
        return not _AVRO_TYPES.isdisjoint(_names(node.args[1]))
    return isinstance(node, ast.match_case) and not _AVRO_TYPES.isdisjoint(_names(node.pattern))


def _names(node: ast.AST) -> set[str]:
    named = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return named | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def figures(found: list[Module]) -> dict[str, float]:
    """Return the figures by what they count."""
    sizes = [module.lines for module in found]
    lines = sum(sizes)
    return {
        "modules": len(found),
        "lines": lines,
        "median lines of a module": statistics.median(sizes),
        "90th percentile": statistics.quantiles(sizes, n=10)[-1],
        "import lines, percent": 100 * sum(module.import_lines for module in found) / lines,
        "blocks for type hints alone": sum(module.text.count("if TYPE_CHECKING:") for module in found),
        "`Any` in 1,000 lines": 1000 * sum(len(_ANY.findall(module.text)) for module in found) / lines,
        "names of more than one public class": len(repeated_class_names(found)),
        "functions that decide on Avro's types": sum(
            dispatches_on_avro(module) for module in found if not module.name.startswith(_AVRO)
        ),
    }


if __name__ == "__main__":
    for title, figure in figures(modules()).items():
        print(f"{title:<38}{figure:>12,.1f}".replace(".0", "  "))  # noqa: T201 - a report
