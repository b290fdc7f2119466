"""A browser for tests: what it must not do is noticed, and fails the test that watches it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from local_services.chromium import chromium_options, chromium_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

WIDE: Final = 1280
NARROW: Final = 390
_HEIGHT: Final = 900
PATIENCE_MS: Final = 60_000

Theme = Literal["light", "dark"]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Yield Debian's Chromium, without a window."""
    from playwright.sync_api import sync_playwright  # half a second, in each process of a run

    program, environment = chromium_program()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(program), args=chromium_options(), env={**os.environ, **environment}, headless=True
        )
        try:
            yield browser
        finally:
            browser.close()


class WatchedPage:
    """A tab that lists the browser's complaints: errors of scripts, reports of the policy, requests to other hosts.

    ``clicks`` counts the links and buttons that were used. A response with an error is no complaint if it was
    ``expected``.
    """

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base.rstrip("/")
        self.clicks = 0
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._see)
        page.on("dialog", self._dismiss)

    def open(self, path: str, *, status: int = 200) -> None:
        """Open the page at a path, which must be answered with this status."""
        response = self.page.goto(self.base + path)
        assert response is not None
        assert response.status == status, (path, response.status, response.text()[:500])

    def follow(self, name: str, *, role: Literal["link", "button"] = "link", exact: bool = False) -> None:
        """Click the first link or button with a name; the page that it leads to is loaded then."""
        self.clicks += 1
        target = self.page.locator("main").get_by_role(role, name=name, exact=exact).first
        with self.page.expect_navigation():
            target.click()

    def main_text(self) -> str:
        """Return the text of the page's content."""
        return self.page.locator("main").inner_text()

    def wait_for_text(self, text: str) -> None:
        """Wait until a text is in the page's content."""
        self.page.locator("main").get_by_text(text).first.wait_for()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self.complaints.append(f"console: {message.text} ({message.location.get('url')})")

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _see(self, request: Request) -> None:
        self.requests.append(request.url)
        parts = urlsplit(request.url)
        if parts.scheme not in {"about", "data"} and f"{parts.scheme}://{parts.netloc}" != self._origin():
            self.complaints.append(f"request to another host: {request.url}")

    def _origin(self) -> str:
        parts = urlsplit(self.base)
        return f"{parts.scheme}://{parts.netloc}"


@contextmanager
def watched(
    browser: Browser,
    base: str,
    *,
    has_scripts: bool = True,
    width: int = WIDE,
    theme: Theme = "light",
    **options: Any,
) -> Iterator[WatchedPage]:
    """Yield a tab with a fresh profile; the browser's complaints at its end fail the test."""
    context = browser.new_context(
        java_script_enabled=has_scripts,
        viewport={"width": width, "height": _HEIGHT},
        color_scheme=theme,
        locale="en-GB",
        timezone_id="UTC",
        **options,
    )
    try:
        tab = WatchedPage(context.new_page(), base)
        yield tab
        assert tab.complaints == []
    finally:
        context.close()
