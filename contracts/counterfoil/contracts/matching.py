"""Matching of the schema files of two sides when files are moved and renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.contracts.tree import SchemaTree


def match_paths(head: SchemaTree, earlier: SchemaTree) -> dict[str, str]:
    """Return the file of ``earlier`` that each file of ``head`` comes from; a file without origin is left out.

    A file at its old place with its old name is itself. Then a name that is declared by one file on each side is the
    same schema in a moved file; then the files at the same path are the same schema with another name.
    """
    origin = {
        path: path
        for path in set(head.paths).intersection(earlier.paths)
        if head.data(path) == earlier.data(path) or _identity(head, path) == _identity(earlier, path)
    }
    later_by_name = _paths_by_identity(head, set(head.paths).difference(origin))
    earlier_by_name = _paths_by_identity(earlier, set(earlier.paths).difference(origin.values()))
    for name, paths in later_by_name.items():
        sources = earlier_by_name.get(name, [])
        if len(paths) == len(sources) == 1:
            origin[paths[0]] = sources[0]
    taken, earlier_paths = set(origin.values()), set(earlier.paths)
    for path in head.paths:
        if path not in origin and path in earlier_paths and path not in taken:
            origin[path] = path
    return origin


def _identity(tree: SchemaTree, path: str) -> str | None:
    """Return what identifies a schema when its file moves: its language and name, or its text if it has no name."""
    names = tree.outline(path)
    if names is None:
        return None
    return f"{tree.language(path)} {names.name or tree.content(path)[0]}"


def _paths_by_identity(tree: SchemaTree, paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        identity = _identity(tree, path)
        if identity is not None:
            found.setdefault(identity, []).append(path)
    return found
