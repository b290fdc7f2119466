"""The checkers that are not ours: axe-core for accessibility, the Nu checker for HTML."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from local_services.javascript import node_packages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from playwright.sync_api import Page

_MANIFESTS: Final = Path(__file__).parents[2] / "e2e" / "pages" / "javascript"
_TAGS: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
_RUN: Final = """chosen => axe.run(document, {runOnly: chosen, resultTypes: ['violations']})
    .then(found => found.violations.map(each => ({
        id: each.id, help: each.help,
        nodes: each.nodes.slice(0, 5).map(node => node.html.slice(0, 300) + ' | ' + node.failureSummary)
    })))"""
_DEADLINE_S: Final = 300


@cache
def _packages() -> Path:
    return node_packages(_MANIFESTS)


@cache
def axe_script() -> str:
    """Return the text of axe-core."""
    return (_packages() / "axe-core" / "axe.min.js").read_text()


def violations(page: Page, *, only_colors: bool = False) -> list[Any]:
    """Return what axe-core finds in a page, by the rules of WCAG 2.2 A and AA, or by that about contrast alone."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(axe_script())
    chosen = {"type": "rule", "values": ["color-contrast"]} if only_colors else {"type": "tag", "values": list(_TAGS)}
    found: list[Any] = page.evaluate(_RUN, chosen)
    return found


def mistakes_of_html(text_by_name: Mapping[str, str]) -> list[str]:
    """Return the errors that the Nu checker finds in pages."""
    with TemporaryDirectory() as folder:
        files = {}
        for number, (name, text) in enumerate(text_by_name.items()):
            path = Path(folder) / f"{number}.html"
            path.write_text(text, encoding="utf-8")
            files[path.name] = name
        jar = _packages() / "vnu-jar" / "build" / "dist" / "vnu.jar"
        command = ["java", "-jar", str(jar), "--errors-only", "--format", "json", "--exit-zero-always", folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE_S, check=True)
    found = json.loads(done.stderr or done.stdout)["messages"]
    return [
        f"{files[Path(each['url']).name]}, line {each.get('lastLine')}: {each['message']} ({each.get('extract', '')!r})"
        for each in found
    ]
