"""Modules of large packages, which are loaded when a test uses them.

Every process of a run imports every file of tests, and runs a part of the tests: what a file imports at its top costs
its time in each of them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class _LateModule(ModuleType):
    _mock_name = None  # pytest looks for mocks among the names of a file

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of the import system, and of those that look at modules
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


def late_module(name: str) -> Any:
    """Return an object with the names of a module, which is imported when the first of them is used."""
    return _LateModule(name)
