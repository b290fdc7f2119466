"""Every page in both themes and all states: no violation of WCAG 2.2 AA, no error of HTML, no scrolling sideways."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from strategies.pages.addresses import ABSENT, PAGES
from strategies.pages.browser import NARROW, WIDE, WatchedPage, watched
from strategies.pages.checkers import mistakes_of_html, violations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

STATUS_BY_PATH = {**dict.fromkeys(PAGES.values(), 200), **dict(ABSENT.values())}
WIDTH_OF_ALL = "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@pytest.fixture(scope="module")
def tab(browser: Browser, shop: str) -> Iterator[WatchedPage]:
    """Yield one tab for all pages, since a new one for each would take longer than the checks."""
    with watched(browser, shop) as found:
        yield found


@pytest.mark.parametrize("name", [*PAGES, *ABSENT])
def test_a_page_in_both_themes_and_narrow(tab: WatchedPage, name: str) -> None:
    path, status = ABSENT.get(name) or (PAGES[name], 200)
    tab.page.emulate_media(color_scheme="light")
    tab.page.set_viewport_size({"width": WIDE, "height": 900})
    tab.open(path, status=status)
    assert violations(tab.page) == []
    assert tab.page.evaluate("() => document.querySelectorAll('*').length") <= 4000
    assert tab.page.locator("h1").count() == 1
    tab.page.emulate_media(color_scheme="dark")
    assert violations(tab.page, only_colors=True) == []
    tab.page.set_viewport_size({"width": NARROW, "height": 844})
    whole, shown = tab.page.evaluate(WIDTH_OF_ALL)
    assert whole <= shown
    complaints = [*tab.complaints]
    tab.complaints.clear()
    assert complaints == []


def test_the_html_of_all_pages_is_valid(shop: str) -> None:
    parts = urlsplit(shop)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
    texts = {}
    for path, status in STATUS_BY_PATH.items():
        connection.request("GET", path)
        reply = connection.getresponse()
        texts[path] = reply.read().decode()
        assert reply.status == status, path
    connection.close()
    assert mistakes_of_html(texts) == []
