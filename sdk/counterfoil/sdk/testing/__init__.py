"""Registries for tests of programs: one in the memory of the process, and one in a process of its own.

Both are part of the extra ``registry``. pytest has them as fixtures, see :mod:`counterfoil.sdk.testing.pytest_plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.sdk.late_modules import late_names

if TYPE_CHECKING:
    from counterfoil.sdk.testing.registries import InMemoryRegistry, serving_registry


__all__ = ["InMemoryRegistry", "serving_registry"]

__getattr__, __dir__ = late_names(
    globals(), {"InMemoryRegistry": "sdk.testing.registries", "serving_registry": "sdk.testing.registries"}
)
