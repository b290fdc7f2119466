"""Pages as people set their browsers: narrow, with large text, forced colours, little motion, on paper, and slow."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from strategies.machine.late_modules import late_module
from strategies.pages.addresses import PAGES
from strategies.pages.browser import watched
from strategies.pages.checkers import violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser

playwright = late_module("playwright.sync_api")

WIDTHS = "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
LARGE_TEXT = "() => document.documentElement.style.setProperty('font-size', '200%')"
MAIN_PAGES = ("home", "search", "subjects", "subject", "version", "version, source", "compare", "try, refused")
STYLE = "(found, name) => getComputedStyle(found).getPropertyValue(name)"
TASKS = """() => new Promise(done => {
    const found = [];
    new PerformanceObserver(list => found.push(...list.getEntries().map(each => each.duration)))
        .observe({type: 'longtask', buffered: true});
    setTimeout(() => done(found), 0);
})"""
SLOWER = 4


def test_pages_are_as_wide_as_a_screen_of_320_pixels(browser: Browser, shop: str) -> None:
    with watched(browser, shop, width=320) as tab:
        for name in (*MAIN_PAGES, "compare, JSON", "version, Protobuf", "changes", "rules"):
            tab.open(PAGES[name])
            whole, shown = tab.page.evaluate(WIDTHS)
            assert whole <= shown, name


def test_text_of_double_size_stays_on_the_page(browser: Browser, shop: str) -> None:
    with watched(browser, shop, width=640) as tab:
        for name in (*MAIN_PAGES, "compare, JSON"):
            tab.open(PAGES[name])
            usual = tab.page.evaluate("() => getComputedStyle(document.body).fontSize")
            tab.page.evaluate(LARGE_TEXT)
            assert tab.page.evaluate("() => getComputedStyle(document.body).fontSize") != usual
            whole, shown = tab.page.evaluate(WIDTHS)
            assert whole <= shown, name


def test_what_colours_say_is_seen_without_them(browser: Browser, shop: str) -> None:
    """Where the colours are those of the system, verdicts have a border, and the focus an outline."""
    with watched(browser, shop, forced_colors="active") as tab:
        tab.open(PAGES["compare"])
        assert tab.page.evaluate("() => matchMedia('(forced-colors: active)').matches")
        verdict = tab.page.locator("main .no").first
        assert verdict.evaluate(STYLE, "border-top-style") == "solid"
        assert any(sign in verdict.inner_text() for sign in "✕✓")
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") != "none"
        assert violations(tab.page, only_colors=True) == []


@pytest.mark.parametrize(("motion", "behavior"), [("reduce", "auto"), ("no-preference", "smooth")])
def test_little_motion_is_no_motion(browser: Browser, shop: str, motion: str, behavior: str) -> None:
    with watched(browser, shop, reduced_motion=motion) as tab:
        for name in ("home", "version", "compare"):
            tab.open(PAGES[name])
            assert tab.page.locator("html").evaluate(STYLE, "scroll-behavior") == behavior
            assert tab.page.evaluate("() => document.getAnimations().length") == 0


def test_paper_has_the_content_and_the_foot_alone(browser: Browser, shop: str) -> None:
    with watched(browser, shop) as tab:
        for name in ("subject", "version", "compare"):
            tab.open(f"{PAGES[name]}{'&' if '?' in PAGES[name] else '?'}print=1")
            tab.page.emulate_media(media="print")
            for hidden in (".top", ".acts"):
                assert [each for each in tab.page.locator(hidden).all() if each.is_visible()] == [], name
            assert tab.page.locator("h1").is_visible()
            assert tab.page.locator("main table").first.is_visible()
            foot = tab.page.locator("footer .printed")
            assert foot.is_visible()
            assert tab.page.url.partition("?")[0] in foot.inner_text()
            assert tab.page.locator(".scroll").first.evaluate(STYLE, "overflow-x") == "visible"
            assert tab.page.pdf().startswith(b"%PDF-")
            tab.page.emulate_media(media="screen")


def test_long_tasks_on_a_slow_processor_are_reported(
    browser: Browser, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The goal is none of more than 50 ms; how many there are depends on the machine, so that they are only printed."""
    with watched(browser, shop) as tab:
        session = tab.page.context.new_cdp_session(tab.page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        for name in ("home", "subject", "version", "compare"):
            tab.open(PAGES[name])
            tab.page.wait_for_load_state("networkidle")
            found = [round(each) for each in tab.page.evaluate(TASKS)]
            with capsys.disabled():
                sys.stdout.write(f"\n{name}, processor {SLOWER} times slower: tasks over 50 ms: {found or 'none'}\n")
            assert tab.page.locator("h1").count() == 1


# --- what a screen reader is told

FRAME = """
- link "Skip to the content"
- banner:
  - link "counterfoil"
  - search:
    - combobox "Search names, fields, tags, documentation, ids"
    - button "Search"
  - navigation "Sections":
    - list:
      - listitem:
        - link "Subjects"
      - listitem:
        - link "Changes"
      - listitem:
        - link "Compare"
"""
VERSION = """
- main:
  - heading "orders-value v7" [level=1]
  - navigation "Views of the version":
    - list:
      - listitem:
        - link "Fields"
      - listitem:
        - link "Source"
      - listitem:
        - link "Raw text"
  - heading "Elements" [level=2]
  - region "Elements":
    - table:
      - rowgroup:
        - row "line element type default tags since documentation"
      - rowgroup:
        - row /customer.email null . string null PII v3/
"""
COMPARE = """
- main:
  - 'heading "orders-value: v3 → v7" [level=1]'
  - region "Verdicts":
    - table:
      - rowgroup
      - rowgroup:
        - row /v7 reads records of v3 BACKWARD ✓ reads/
        - row /v3 reads records of v7 FORWARD ✕ 1 finding/
  - navigation "Views of the comparison"
  - heading "Changes" [level=2]
  - region "Changes":
    - table "4 changes":
      - rowgroup:
        - row "element change v3 v7 came in breaks"
      - rowgroup:
        - row /note field removed. string/
"""


@pytest.mark.parametrize(
    ("name", "place", "tree"),
    [
        ("version", "body", FRAME),
        ("version", "body", VERSION),
        ("compare", "body", COMPARE),
    ],
)
def test_the_tree_of_accessibility_has_its_landmarks_and_names(
    browser: Browser, shop: str, name: str, place: str, tree: str
) -> None:
    with watched(browser, shop) as tab:
        tab.open(PAGES[name])
        tab.page.locator("#search[role=combobox]").wait_for()  # the script has made its suggestions possible
        playwright.expect(tab.page.locator(place)).to_match_aria_snapshot(tree)
