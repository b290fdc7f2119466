"""Pages behind a proxy that strips the beginning of their paths, and pages that demand credentials."""

from __future__ import annotations

import http.client
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from local_services import RegistryProcess
from strategies.pages.addresses import PAGES
from strategies.pages.browser import watched
from strategies.pages.shop import ORDERS, fill_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

PREFIX = "/schemas/registry"
OWN_LINKS = """() => [...document.querySelectorAll('a[href], form[action], link[href], script[src], img[src]')]
    .map(each => each.getAttribute('href') ?? each.getAttribute('action') ?? each.getAttribute('src'))"""


class StrippingProxy(BaseHTTPRequestHandler):
    """Passes what is below the prefix on to the registry, without the prefix; answers everything else 404."""

    protocol_version = "HTTP/1.1"
    port: int
    decodes_slashes: bool

    def do_GET(self) -> None:
        self._pass_on(None)

    def do_POST(self) -> None:
        self._pass_on(self.rfile.read(int(self.headers["Content-Length"])))

    def _pass_on(self, body: bytes | None) -> None:
        if not self.path.startswith(PREFIX + "/"):
            self._answer(404, [], b"not below the prefix")
            return
        path = self.path.removeprefix(PREFIX)
        if self.decodes_slashes:
            place, mark, query = path.partition("?")
            path = place.replace("%2F", "/").replace("%2f", "/") + mark + query
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request(self.command, path, body, dict(self.headers))
        reply = connection.getresponse()
        kept = [each for each in reply.getheaders() if each[0].lower() not in {"content-length", "date"}]
        self._answer(reply.status, kept, reply.read())
        connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def proxied(port: int, *, decodes_slashes: bool) -> Iterator[str]:
    """Yield the address of a proxy before the registry at a port."""
    kind = type("ProxyBefore", (StrippingProxy,), {"port": port, "decodes_slashes": decodes_slashes})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize(("names", "decodes_slashes"), [("path", False), ("query", True)])
def test_all_addresses_have_the_prefix_that_a_proxy_strips(
    browser: Browser, names: str, *, decodes_slashes: bool
) -> None:
    settings = {"COUNTERFOIL_PUBLIC_PATH": PREFIX, "COUNTERFOIL_UI_NAMES": names}
    with RegistryProcess(settings=settings) as registry, proxied(registry.port, decodes_slashes=decodes_slashes) as url:
        fill_shop(registry.url)
        with watched(browser, url) as tab:
            tab.open(f"{PREFIX}/")
            assert tab.page.url == f"{url}{PREFIX}/ui/"
            for name in ("home", "subjects", "changes", "version by query", "compare", "try", "decode", "rules"):
                tab.open(PREFIX + PAGES[name])
                links = [each for each in tab.page.evaluate(OWN_LINKS) if each and not each.startswith("#")]
                assert links
                assert [each for each in links if not each.startswith(f"{PREFIX}/")] == [], name
            tab.open(f"{PREFIX}/ui/subjects?prefix=shop")
            tab.follow("shop/money.proto", exact=True)
            assert "Money" in tab.main_text()
            tab.follow("v1", exact=False)
            assert "cents" in tab.main_text()
            tab.open(f"{PREFIX}/ui/try?subject={ORDERS}")
            form = tab.page.locator("main form").filter(has=tab.page.locator("[name=schema]"))
            form.locator("[name=schema]").fill('"string"')
            with tab.page.expect_navigation():
                form.locator("button").first.click()
            assert tab.page.url.startswith(f"{url}{PREFIX}/ui/try")
