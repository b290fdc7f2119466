"""Hostile texts in every place: the browser runs nothing of them, and has nothing to report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_services import RegistryProcess
from strategies.pages.browser import WatchedPage, watched
from strategies.pages.hostile import PAYLOADS, fill_hostile, hostile_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def hostile_registry() -> Iterator[str]:
    """Yield the address of a registry with hostile texts."""
    with RegistryProcess() as running:
        fill_hostile(running.url)
        yield running.url


def ran(tab: WatchedPage) -> bool:
    """Return whether a text of the page was run as a script."""
    found: bool = tab.page.evaluate("() => '__ran' in window")
    return found


PAGES_OF_HOSTILE_TEXTS = list(hostile_pages())
EVERY = 4


@pytest.mark.parametrize("part", [0, *(pytest.param(number, marks=pytest.mark.long) for number in range(1, EVERY))])
def test_nothing_runs_on_any_page(browser: Browser, hostile_registry: str, part: int) -> None:
    """A part has every kind of page and every text, since their numbers have no common divisor with the step."""
    with watched(browser, hostile_registry) as tab:
        for path, status in PAGES_OF_HOSTILE_TEXTS[part::EVERY]:
            tab.open(path, status=status)
            assert not ran(tab), path
            assert tab.complaints == [], path
            assert tab.page.locator("main").count() == 1, path


@pytest.mark.parametrize("number", range(len(PAYLOADS)))
def test_a_form_keeps_and_shows_what_was_entered(browser: Browser, hostile_registry: str, number: int) -> None:
    payload = PAYLOADS[number]
    with watched(browser, hostile_registry) as tab:
        tab.open("/ui/try")
        form = tab.page.locator("main form").filter(has=tab.page.locator("[name=schema]"))
        form.locator("[name=subject]").fill(f"s {payload[:80]}")
        form.locator("[name=schema]").fill(payload)
        with tab.page.expect_navigation():
            form.locator("button").first.click()
        assert not ran(tab)
        assert tab.page.locator("main [name=schema]").input_value() == payload
        tab.open("/ui/decode")
        tab.page.locator("main [name=text]").fill(payload)
        with tab.page.expect_navigation():
            tab.page.locator("main form").filter(has=tab.page.locator("[name=text]")).locator("button").first.click()
        assert not ran(tab)
        assert tab.page.locator("main [name=text]").input_value() == payload
