"""No module of a room imports itself in a circle, imports for type hints included."""

from __future__ import annotations

import grimp
import pytest

ROOMS = ("schema", "pages", "sdk", "contracts", "registry", "converter")


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_imports_itself_in_a_circle(room: str):
    assert circles(f"counterfoil.{room}") == set()


def circles(package: str) -> set[frozenset[str]]:
    """Return the modules of each circle of imports: each of them is reached from itself."""
    graph = grimp.build_graph(package, cache_dir=None)
    before = {module: graph.find_modules_directly_imported_by(module) - {module} for module in graph.modules}
    while ends := {module for module, imported in before.items() if not imported}:
        before = {module: imported - ends for module, imported in before.items() if module not in ends}
    reached = {module: _reached(module, before) for module in before}
    return {frozenset({other for other in reached[module] if module in reached[other]}) for module in before} - {
        frozenset()
    }


def _reached(module: str, imported_by: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for each in imported_by[waiting.pop()] - found:
            found.add(each)
            waiting.append(each)
    return found
