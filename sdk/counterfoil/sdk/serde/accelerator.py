"""Which tier encodes and decodes: the accelerator where it is installed, else Python code.

The accelerator is a distribution of its own, ``counterfoil-accelerator``, written in Rust. Two environment variables
decide, each time an encoder or a decoder is made: ``COUNTERFOIL_ACCELERATOR=off`` leaves it unused, and with
``COUNTERFOIL_REQUIRE_ACCELERATOR=1`` a missing one is an error.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    from counterfoil.schema.datum import Datum


INTERFACE: Final = 4
"""The version of what is passed to the accelerator; its own ``INTERFACE`` must be the same."""

USED: Final = "COUNTERFOIL_ACCELERATOR"
REQUIRED: Final = "COUNTERFOIL_REQUIRE_ACCELERATOR"

_MODULE: Final = "counterfoil_accelerator"
_DISTRIBUTION: Final = "counterfoil-accelerator"
_IS_USED: Final = {"": True, "on": True, "off": False}
_IS_REQUIRED: Final = {"": False, "0": False, "1": True}
_log = logging.getLogger("counterfoil.sdk.serde")


def find_accelerator() -> ModuleType | None:
    """Return the accelerator's module; None where generated Python code is to be used.

    Raises ``InvalidSettings`` for an invalid value of either variable, and for an accelerator that is required and
    missing or of another version.
    """
    is_used, is_required = _read(USED, _IS_USED), _read(REQUIRED, _IS_REQUIRED)
    if not is_used:
        return None
    module, problem = _load()
    if problem is not None and is_required:
        raise InvalidSettings(f"{REQUIRED} is set, and {problem}", setting=REQUIRED)
    return module


def made_when_called(make: Callable[[], Callable[..., Datum]]) -> Callable[..., Datum]:
    """Return a function that calls the function which ``make`` returns; ``make`` runs at the first call."""
    made: list[Callable[..., Datum]] = []

    def call(*arguments: object) -> Any:
        if not made:
            made.append(make())
        return made[0](*arguments)

    return call


def _read(name: str, meaning_by_value: dict[str, bool]) -> bool:
    value = os.environ.get(name, "")
    if value not in meaning_by_value:
        expected = " or ".join(repr(one) for one in meaning_by_value if one)
        raise InvalidSettings(f"{name} is {value!r}; expected {expected}", setting=name)
    return meaning_by_value[value]


@cache
def _load() -> tuple[ModuleType | None, str | None]:
    """Return the module, or None and the reason, which is logged once."""
    try:
        module = importlib.import_module(_MODULE)
    except ImportError as error:
        problem = f"the package {_DISTRIBUTION} cannot be imported ({error})"
    else:
        found = getattr(module, "INTERFACE", None)
        if found == INTERFACE:
            return module, None
        problem = f"the installed {_DISTRIBUTION} has interface {found}; this version of counterfoil needs {INTERFACE}"
    _log.debug("Messages are encoded and decoded by generated Python code: %s", problem)
    return None, problem
