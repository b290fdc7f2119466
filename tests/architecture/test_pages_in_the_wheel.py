"""The wheel alone serves web pages: it holds templates, static files and the examples of rules, and `/ui` answers."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = ROOT / "pages"
EXAMPLES: Final = ROOT / "registry" / "counterfoil" / "registry" / "inspection" / "examples"
PROGRAM: Final = r"""
import asyncio, re, sys
from counterfoil import pages, registry

place = sys.argv[1]
assert registry.__file__.startswith(place), registry.__file__
assert pages.__file__.startswith(place), pages.__file__
from counterfoil.registry.app import assemble
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.memory import MemoryStorage

app = assemble(MemoryStorage(), ServerSettings(store="sqlite://"))


async def asked(path):
    sent = []
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8081), "state": {},
    }

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:]).decode()


async def main():
    status, page = await asked("/ui/")
    assert status == 200 and "This registry is empty" in page, (status, page[:500])
    files = re.findall(r'(?:href|src)="(/ui/static/[^"]+)"', page)
    assert len(files) >= 5, files
    for path in files:
        status, text = await asked(path)
        assert status == 200 and text, path
    for path in ("/ui/rules/type-mismatch", "/ui/help", "/ui/try", "/ui/changes", "/ui/subjects", "/ui/decode"):
        status, text = await asked(path)
        assert status == 200 and "<h1" in text, (path, status)
    print(len(files))


asyncio.run(main())
"""


@pytest.mark.slow
def test_the_wheel_serves_pages_without_the_tree(tmp_path: Path) -> None:
    folder = tmp_path / "wheel"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        held = set(wheel.namelist())
        wheel.extractall(tmp_path / "site")
    kinds = ("templates", "static")
    files = [path for kind in kinds for path in (PAGES / "counterfoil" / "pages" / kind).rglob("*.*")]
    examples = [path for path in EXAMPLES.rglob("*.*") if path.suffix != ".pyc"]
    assert len(files) > 40
    assert examples
    expected = {str(path.relative_to(PAGES)) for path in files}
    expected |= {str(path.relative_to(ROOT / "registry")) for path in examples}
    assert expected <= held
    site = str(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, site],
        cwd=tmp_path,
        env={"PATH": "", "PYTHONPATH": site},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.splitlines()[-1]) >= 5
