"""Changes appear on the page of changes when they happen, also those of another server on the same store."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from local_services import RegistryProcess
from strategies.pages.browser import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def register(url: str, subject: str) -> None:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
    connection.request("POST", f"/subjects/{subject}/versions", json.dumps({"schema": '"string"'}))
    reply = connection.getresponse()
    assert (reply.status, reply.read()) != (500, b"")
    connection.close()


def test_a_change_of_another_server_is_announced_and_shown(browser: Browser, postgres_url: str) -> None:
    with RegistryProcess(store=postgres_url) as one, RegistryProcess(store=postgres_url) as other:
        register(one.url, "first")
        with watched(browser, one.url) as tab:
            tab.open("/ui/changes")
            assert "first" in tab.main_text()
            register(other.url, "second")
            tab.page.locator("main [data-feed]").get_by_text("1 new").wait_for()
            assert "second" not in tab.main_text()
            with tab.page.expect_navigation():
                tab.page.locator("main [data-feed] a").first.click()
            assert "second" in tab.main_text()


def test_without_scripts_the_page_is_asked_for_again(browser: Browser, shop_for_writes: str) -> None:
    with watched(browser, shop_for_writes, has_scripts=False) as tab:
        tab.open("/ui/changes")
        register(shop_for_writes, "later")
        tab.open("/ui/changes")
        assert "later" in tab.main_text()
