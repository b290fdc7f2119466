"""A browser for the tests of a module, and one registry with a shop's schemas for all tests of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_services import RegistryProcess
from strategies.pages.browser import open_browser
from strategies.pages.shop import fill_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")  # while it is open, Playwright runs an event loop: other modules could run none
def browser() -> Iterator[Browser]:
    """Yield Debian's Chromium; its absence fails the tests."""
    with open_browser() as found:
        yield found


@pytest.fixture(scope="session")
def shop() -> Iterator[str]:
    """Yield the address of a registry over SQLite with the shop's schemas. Tests read it alone."""
    with RegistryProcess() as running:
        fill_shop(running.url)
        yield running.url


@pytest.fixture
def shop_on_postgres(postgres_url: str) -> Iterator[str]:
    """Yield the address of a registry over PostgreSQL with the shop's schemas."""
    with RegistryProcess(store=postgres_url) as running:
        fill_shop(running.url)
        yield running.url


@pytest.fixture
def shop_for_writes() -> Iterator[str]:
    """Yield the address of an empty registry that a test may write to."""
    with RegistryProcess(store="sqlite://") as running:
        yield running.url
