"""Modules that are loaded when they are used, so that the import of a program takes no time for them."""

from __future__ import annotations

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
