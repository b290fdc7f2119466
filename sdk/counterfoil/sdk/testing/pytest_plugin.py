"""Fixtures for the tests of programs that use a schema registry; pytest finds them by entry point.

Nothing is imported before a test uses a fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.testing import InMemoryRegistry


@pytest.fixture
def in_memory_registry() -> InMemoryRegistry:
    """Return an empty registry in the memory of this process, for one test."""
    from counterfoil.sdk.testing import InMemoryRegistry

    return InMemoryRegistry()


@pytest.fixture
def schema_registry(in_memory_registry: InMemoryRegistry) -> Iterator[Registry]:
    """Yield a client of an empty registry in the memory of this process, for one test."""
    with in_memory_registry.client() as client:
        yield client


@pytest.fixture(scope="session")
def schema_registry_url() -> Iterator[str]:
    """Yield the URL of a registry in a process of its own, which all tests of the run share; it is empty at first."""
    from counterfoil.sdk.testing import serving_registry

    with serving_registry() as url:
        yield url
