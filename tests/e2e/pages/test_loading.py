"""What a browser loads: sizes and numbers of requests, and what it need not load again."""

from __future__ import annotations

import gzip
import http.client
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from counterfoil.pages.static import assets
from strategies.pages.addresses import PAGES
from strategies.pages.browser import WIDE, watched
from strategies.pages.shop import ORDERS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KB = 1024
PACKED = {"Accept-Encoding": "gzip"}


LOADED = """() => performance.getEntriesByType('resource')
    .filter(each => each.transferSize > 0 && !each.name.endsWith('/icon.svg')).map(each => each.name)"""
"""The files of a page that were not in the browser's cache; whether it asks for an icon again is its own matter."""


def test_a_first_visit_takes_few_requests_and_the_next_page_one(browser: Browser, shop: str) -> None:
    with watched(browser, shop) as tab:
        tab.open("/ui/")
        tab.page.wait_for_load_state("networkidle")
        assert len(tab.requests) <= 10, tab.requests
        for path in ("/ui/help", "/ui/refusals", f"/ui/subjects/{ORDERS}"):
            tab.open(path)
            tab.page.wait_for_load_state("networkidle")
            known = {each.rpartition("/")[2] for each in tab.requests[:10]}
            loaded = [each for each in tab.page.evaluate(LOADED) if each.rpartition("/")[2] in known]
            assert loaded == [], path


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_small(shop: str, name: str) -> None:
    parts = urlsplit(shop)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
    connection.request("GET", PAGES[name], headers=PACKED)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    assert reply.status == 200
    assert reply.headers["Content-Encoding"] == "gzip"
    assert len(body) <= 40 * KB
    assert len(gzip.decompress(body)) <= 500 * KB


def test_the_static_files_are_small() -> None:
    files = assets().files
    style = sum(len(gzip.compress(each.body)) for each in files.values() if each.media_type.startswith("text/css"))
    scripts = sum(len(gzip.compress(each.body)) for each in files.values() if "javascript" in each.media_type)
    assert style <= 12 * KB
    assert scripts <= 10 * KB


def test_nothing_moves_while_a_page_is_loaded(browser: Browser, shop: str) -> None:
    """The layout does not shift (the web vital CLS is zero)."""
    observed = """() => new Promise(done => {
        const found = [];
        new PerformanceObserver(list => list.getEntries().forEach(each => found.push(
            [each.value, ...each.sources.map(source => source.node?.outerHTML?.slice(0, 200) ?? '')]
        ))).observe({type: 'layout-shift', buffered: true});
        requestAnimationFrame(() => requestAnimationFrame(() => done(found)));
    })"""
    with watched(browser, shop, width=WIDE) as tab:
        for name in ("home", "subject", "version", "compare"):
            tab.open(PAGES[name])
            assert tab.page.evaluate(observed) == [], name
