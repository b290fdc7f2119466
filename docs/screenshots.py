"""Write the screenshots of the pages into ``docs/images/``, in light and dark: `make screenshots`.

They show a shop's registry and the taxi rides of the examples, over SQLite, with times of its own, so that another run
makes the same pictures.
"""

from __future__ import annotations

import http.client
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("deploy", "tests")]

from local_services import RegistryProcess  # noqa: E402 - the path is set above
from strategies.pages.addresses import PAGES  # noqa: E402
from strategies.pages.browser import Theme, open_browser, watched  # noqa: E402
from strategies.pages.shop import MEDIA_TYPE, ORDERS, fill_shop  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES: Final = ROOT / "docs" / "images"
RIDES: Final = ROOT / "examples" / "rides" / "schemas"
SHOWN: Final = {
    "search": PAGES["search"],
    "subject": f"/ui/subjects/{ORDERS}",
    "version": f"/ui/subjects/{ORDERS}/versions/7",
    "compare": f"/ui/compare?from={ORDERS}@3&to={ORDERS}@7",
    "try": PAGES["try, refused"],
}
"""The pages, by the names of their pictures."""

THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
MOST_BYTES: Final = 150_000
_BEGUN_MS: Final = 1_767_258_000_000
_HOUR_MS: Final = 3_600_000
_EVERY_HOURS: Final = 31
_TIMES_OF_VERSIONS: Final = """
UPDATE versions SET ts = (
  SELECT changes.ts FROM changes, subjects, contexts
  WHERE subjects.id = versions.subject_id AND contexts.id = subjects.context_id AND changes.name = subjects.name
    AND changes.context = contexts.name AND changes.version = versions.version ORDER BY changes.seq LIMIT 1)"""
_SIZE: Final = {"width": 1280, "height": 800}


def fill_rides(port: int) -> None:
    """Register the schemas of the taxi rides."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    headers = {"Content-Type": MEDIA_TYPE}
    connection.request("PUT", "/config/rides-value", json.dumps({"compatibility": "NONE"}), headers)
    connection.getresponse().read()
    for path in ("v1/ride_key.avsc", "v1/ride_value.avsc", "v2/ride_value.avsc"):
        subject = f"rides-{Path(path).stem.removeprefix('ride_')}"
        body = json.dumps({"schema": (RIDES / path).read_text()})
        connection.request("POST", f"/subjects/{subject}/versions", body, headers)
        reply = connection.getresponse()
        text = reply.read()
        if reply.status != http.client.OK:
            raise RuntimeError(f"{path} was answered {reply.status}: {text!r}")
    connection.close()


def set_times(path: Path) -> None:
    """Give the changes of a store times of their own: one each 31 hours."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE changes SET ts = ? + seq * ?", (_BEGUN_MS, _EVERY_HOURS * _HOUR_MS))
        connection.execute(_TIMES_OF_VERSIONS)
    connection.close()


def take(browser: Browser, url: str) -> list[Path]:
    """Take the pictures; return their files."""
    made = []
    for theme in THEMES:
        with watched(browser, url, theme=theme) as tab:
            for name, path in SHOWN.items():
                tab.page.set_viewport_size(_SIZE)  # type: ignore[arg-type]  # the browser's own type of a size
                tab.open(path)
                tab.page.wait_for_load_state("networkidle")
                picture = IMAGES / f"page-{name}-{theme}.png"
                tab.page.screenshot(path=str(picture))
                made.append(picture)
    return made


def main() -> int:
    """Write all pictures; the exit status is 1 if one is too large."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "registry.db"
        store = f"sqlite:///{path}"
        with RegistryProcess(store=store) as registry:
            fill_shop(registry.url)
            fill_rides(registry.port)
        set_times(path)
        for derived in Path(folder).glob("*search*"):
            derived.unlink()
        with RegistryProcess(store=store) as registry, open_browser() as browser:
            made = take(browser, registry.url)
    large = [each.name for each in made if each.stat().st_size > MOST_BYTES]
    print("\n".join(f"{each.relative_to(ROOT)}  {each.stat().st_size:,} bytes" for each in made))
    if large:
        print(f"larger than {MOST_BYTES:,} bytes: {', '.join(large)}")
    return bool(large)


if __name__ == "__main__":
    sys.exit(main())
