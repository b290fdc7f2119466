"""Modules and names that are loaded when they are used, so that the import of a program takes no time for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


class LateModule:
    """Stands for a module, and loads it when its first member is used; a member that was used is kept."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, member: str) -> Any:
        found = getattr(import_module(self._name), member)
        setattr(self, member, found)
        return found


def late_names(
    package: dict[str, Any], module_by_name: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose public names are loaded when they are first used.

    ``package`` are its ``globals()``, and ``module_by_name`` has the module of each name, without ``counterfoil.``.
    """

    def load(name: str) -> object:
        module = module_by_name.get(name)
        if module is None:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        found = package[name] = getattr(import_module(f"counterfoil.{module}"), name)
        return found

    return load, lambda: sorted(module_by_name)
