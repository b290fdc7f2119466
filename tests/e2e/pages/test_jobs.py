"""The questions that people bring, each answered in so many clicks after a search or a pasted link.

Each is asked with and without scripts.
"""

from __future__ import annotations

import http.client
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from strategies.pages.addresses import DRAFT
from strategies.pages.browser import WatchedPage, watched
from strategies.pages.shop import ORDERS, REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

ORDER_BYTES = "00 00000003 0e f20b 00"
"""The frame of a record that the first version of orders wrote: id 3, order 7, a total of 761, no note."""


@pytest.fixture(params=[True, False], ids=["scripts", "no scripts"])
def tab(browser: Browser, shop: str, request: pytest.FixtureRequest) -> Iterator[WatchedPage]:
    with watched(browser, shop, has_scripts=request.param) as found:
        yield found


def search(tab: WatchedPage, text: str) -> None:
    """Search from the first page, as from every other."""
    tab.open("/ui/")
    field = tab.page.locator("#search")  # a box with suggestions where there are scripts, without them a plain one
    field.fill(text)
    with tab.page.expect_navigation():
        field.press("Enter")


def send(tab: WatchedPage, name: str) -> None:
    """Send the form of the page; that is part of the question and no click on the way to an answer."""
    with tab.page.expect_navigation():
        tab.page.locator("main").get_by_role("button", name=name).first.click()


def asked(url: str, path: str) -> Any:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
    connection.request("GET", path)
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


def id_of(url: str, subject: str, version: int) -> int:
    found: int = asked(url, f"/subjects/{subject}/versions/{version}?deleted=true")["id"]
    return found


def test_1_what_is_in_this_topic(tab: WatchedPage) -> None:
    tab.open("/ui/topics/orders")
    for text in ("orders-value", "orders-key", "customer.email", "lines[].price"):
        assert text in tab.main_text()
    assert tab.clicks == 0


def test_2_who_will_this_change_break(tab: WatchedPage) -> None:
    tab.open(f"/ui/subjects/{ORDERS}")
    tab.follow("Try a change")
    form = tab.page.locator("main form").filter(has=tab.page.locator("[name=schema]"))
    form.locator("[name=schema]").fill(DRAFT["schema"])
    if not form.locator("[name=references]").is_visible():
        form.locator("summary").first.click()
    form.locator("[name=references]").fill(DRAFT["references"])
    with tab.page.expect_navigation():
        form.locator("button").first.click()
    text = tab.main_text()
    assert "total" in text
    assert "refused" in text.lower() or "not be accepted" in text.lower()
    assert tab.page.locator("main [name=schema]").input_value() == DRAFT["schema"]
    assert tab.clicks == 1


def test_3_why_was_my_registration_refused(tab: WatchedPage) -> None:
    tab.open(f"/ui/refusals/{REFUSED}")
    assert ORDERS in tab.main_text()
    assert "total" in tab.main_text()
    assert tab.clicks == 0


def test_3_the_refusal_is_found_from_the_subject(tab: WatchedPage) -> None:
    tab.open(f"/ui/subjects/{ORDERS}")
    tab.follow("refus")
    assert REFUSED in tab.page.content()
    assert tab.clicks == 1


def test_4_which_version_wrote_these_bytes(tab: WatchedPage, shop: str) -> None:
    written = f"00{id_of(shop, ORDERS, 1):08x}0ef20b00"
    tab.open("/ui/decode")
    tab.page.locator("main [name=text]").fill(written)
    with tab.page.expect_navigation():
        tab.page.locator("main form").filter(has=tab.page.locator("[name=text]")).locator("button").first.click()
    text = tab.main_text()
    assert ORDERS in text
    assert "761" in text
    assert tab.clicks == 0


def test_5_what_changed_between_two_versions_and_since_when(tab: WatchedPage) -> None:
    tab.open(f"/ui/compare?from={ORDERS}@3&to={ORDERS}@7")
    text = tab.main_text()
    for each in ("total", "note", "status", "v6", "v4"):
        assert each in text
    assert tab.clicks == 0


def test_5_the_last_change_is_compared_from_the_subject(tab: WatchedPage) -> None:
    tab.open(f"/ui/subjects/{ORDERS}")
    tab.follow("Compare")
    assert "shipping" in tab.main_text()
    assert tab.clicks == 1


def test_7_where_else_is_a_name(tab: WatchedPage) -> None:
    search(tab, "customer_id")
    tab.wait_for_text("claims-value")
    assert tab.clicks == 0


def test_7_where_else_is_personal_data(tab: WatchedPage) -> None:
    search(tab, "tag:PII")
    tab.wait_for_text("customer.email")
    assert tab.clicks == 0


def test_8_what_is_this_id(tab: WatchedPage, shop: str) -> None:
    tab.open(f"/ui/ids/{id_of(shop, ORDERS, 7)}")
    assert ORDERS in tab.main_text()
    assert "refunds-value" in tab.main_text()
    assert tab.clicks == 0


def test_8_an_id_is_found_by_search(tab: WatchedPage, shop: str) -> None:
    search(tab, str(id_of(shop, ORDERS, 7)))
    assert "refunds-value" in tab.main_text()
    assert tab.clicks == 0


def test_9_what_level_is_in_force_here_and_who_set_it(tab: WatchedPage) -> None:
    tab.open(f"/ui/subjects/{ORDERS}")
    text = tab.main_text()
    assert "FULL" in text
    assert "normalize" in text
    assert "top level" in text
    assert tab.clicks == 0


def test_10_what_refers_to_this(tab: WatchedPage) -> None:
    tab.open("/ui/subjects/common-money-value")
    tab.follow("References")
    assert ORDERS in tab.main_text()
    assert "refunds-value" in tab.main_text()
    assert tab.clicks == 1


def test_12_what_changed_today(tab: WatchedPage) -> None:
    tab.open("/ui/")
    tab.clicks += 1
    with tab.page.expect_navigation():
        tab.page.get_by_role("navigation", name="Sections").get_by_role("link", name="Changes").click()
    text = tab.main_text()
    assert "routes-value" in text
    assert "Version 1" in text
    assert tab.clicks == 1


def test_14_what_does_this_rule_want_of_me(tab: WatchedPage) -> None:
    tab.open(f"/ui/compare?from={ORDERS}@3&to={ORDERS}@7")
    tab.follow("type-mismatch")
    assert "type-mismatch" in tab.main_text()
    assert tab.clicks == 1


def test_pages_over_postgresql_answer_the_same(browser: Browser, shop: str, shop_on_postgres: str) -> None:
    """Times and ids of requests differ; what is said of the schemas does not."""
    paths = [f"/ui/compare?from={ORDERS}@3&to={ORDERS}@7", f"/ui/subjects/{ORDERS}/versions/7", "/ui/ids/1"]
    texts: list[list[str]] = []
    for url in (shop, shop_on_postgres):
        with watched(browser, url) as found:
            shown = []
            for path in paths:
                found.open(path)
                shown.append(re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d|127[.]0[.]0[.]1:\d+", "", found.main_text()))
            texts.append(shown)
    assert texts[0] == texts[1]


def test_15_how_was_it_then(tab: WatchedPage) -> None:
    tab.open(f"/ui/subjects/{ORDERS}?as_of=5")
    text = tab.page.inner_text("body")
    assert "as of" in text.lower()
    assert "shipping" not in tab.main_text()
    tab.follow("now")
    assert "v7" in tab.main_text()
