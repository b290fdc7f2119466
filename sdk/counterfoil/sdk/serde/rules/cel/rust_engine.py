"""The engine in Rust, imported without the rest of its package, whose command line takes far longer to import."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Final

_PACKAGE: Final = "cel"
_EXTENSION: Final = f"{_PACKAGE}.cel"


def find_engine() -> Any:
    """Return the compiled module of the package ``cel``; None if it is not installed (the extra rules-fast has it).

    It is registered under its own name, so that a program which imports the package gets the same module.
    """
    if _EXTENSION in sys.modules:
        return sys.modules[_EXTENSION]
    try:
        package = find_spec(_PACKAGE)
        if package is None:
            return None
        spec = PathFinder.find_spec(_EXTENSION, package.submodule_search_locations)
        if spec is None or spec.loader is None:
            return None
        module = sys.modules[_EXTENSION] = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:  # such as a build for another version of Python
        sys.modules.pop(_EXTENSION, None)
        return None
    return module
