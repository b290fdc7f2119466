"""What an index is given: the wheel's metadata, its files, and a changelog that fits its version."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from email.message import Message

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REPOSITORY = PROJECT["urls"]["Repository"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from the tree without network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    """The wheel's METADATA."""
    name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
    return email.message_from_bytes(wheel.read(name))


@pytest.mark.slow
def test_the_page_on_an_index_links_to_this_version_in_the_repository(metadata: Message):
    page = metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = re.findall(r"\]\(([^)\s]+)\)", page)
    assert links
    assert not [link for link in links if not link.startswith(("https://", "#"))]
    place = f"{REPOSITORY}/blob/v{PROJECT['version']}/"
    ours = [link.removeprefix(place) for link in links if link.startswith(place)]
    assert {"CHANGELOG.md", "docs/registry.md"} <= set(ours)
    assert not [path for path in ours if not (ROOT / path.partition("#")[0]).exists()]
    images = re.findall(r'\bsrc(?:set)?="([^"]+)"', page)
    place = f"{REPOSITORY}/raw/v{PROJECT['version']}/"
    assert images
    assert not [image for image in images if not (ROOT / image.removeprefix(place)).is_file()]


@pytest.mark.slow
def test_the_urls_are_those_of_one_repository(metadata: Message):
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL"))
    assert set(urls) == {"Homepage", "Documentation", "Repository", "Issues", "Changelog"}
    assert all(url.startswith(REPOSITORY) for url in urls.values())
    assert REPOSITORY in (ROOT / "CHANGELOG.md").read_text()


def test_the_wheel_holds_every_room_and_its_data(wheel: zipfile.ZipFile):
    names = set(wheel.namelist())
    for room in ("schema", "pages", "sdk", "contracts", "registry", "converter"):
        assert f"counterfoil/{room}/py.typed" in names
        files = {str(path.relative_to(ROOT / room)) for path in (ROOT / room).rglob("*.sql")}
        assert files <= names


def test_the_changelog_has_a_heading_and_a_link_for_this_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    assert headings[1][0] == PROJECT["version"]
    assert all(date for _, date in headings[1:])
    assert re.findall(r"^## .*$", text, re.MULTILINE) == [
        f"## [{name}]{f' - {date}' if date else ''}" for name, date in headings
    ]
    assert re.findall(rf"^\[(.+?)\]: {re.escape(REPOSITORY)}/", text, re.MULTILINE) == [name for name, _ in headings]
