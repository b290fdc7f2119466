"""Where something is missing or forbidden around the command, a message says what to do."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strategies.machine.outcome import Outcome

ROOT = Path(__file__).resolve().parents[3]
RIDE = '{"type": "record", "name": "Ride", "doc": "Zürich → Genève", "fields": [{"name": "fare", "type": "double"}]}\n'
OLD_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""A locale of ASCII alone: Python's own remedies against it are off."""
NARROW = [OLD_LOCALE, {**OLD_LOCALE, "PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "ascii"}]


@pytest.fixture
def without_rights(installed: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """A function that runs the command for a user who may not write everywhere, as root of the tests may."""
    bounded = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", "--"]
    return partial(installed, before=bounded if os.geteuid() == 0 else ())


@pytest.fixture
def closed_folder(tmp_path: Path) -> Path:
    """A folder with a schema, in which nothing can be written."""
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "ride-value.avsc").write_text(RIDE, encoding="utf-8")
    folder.chmod(0o555)
    return folder


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("init", "counterfoil.yaml: Permission denied; give this user the right to read or write it, or name another"),
        (
            "check ride-value.avsc --against ride-value.avsc --format json=report.json",
            "report.json: Permission denied; ",
        ),
        ("generate contract ride-value.avsc --out orders.odcs.yaml", "orders.odcs.yaml: Permission denied; give"),
        ("tutorial quickstart start", "start: Permission denied; give this user the right to"),
        ("serve --port 0", "closed cannot be written; make it writable for this user, or name another store with --st"),
    ],
)
def test_a_folder_that_cannot_be_written(
    without_rights: Callable[..., Outcome], closed_folder: Path, words: str, advice: str
) -> None:
    ended = without_rights(*words.split(), folder=closed_folder)
    assert ended.code == 14, ended
    assert advice in ended.err, ended
    assert [each.name for each in closed_folder.iterdir()] == ["ride-value.avsc"]


@pytest.mark.parametrize(
    "words",
    [
        "check hidden --against ride-value.avsc",
        "check hidden/old --against ride-value.avsc",
        "check ride-value.avsc --against hidden",
        "check ride-value.avsc --against .",
        "check ride-value.avsc --against ride-value.avsc --consumers hidden",
        "lint hidden",
        "diff hidden hidden",
        "schema register hidden --registry http://127.0.0.1:9",
        "publish hidden --application shop --version 1 --dry-run",
        "tutorial quickstart hidden",
    ],
)
def test_a_folder_that_cannot_be_read(without_rights: Callable[..., Outcome], tmp_path: Path, words: str) -> None:
    (tmp_path / "ride-value.avsc").write_text(RIDE, encoding="utf-8")
    hidden = tmp_path / "hidden"
    (hidden / "old").mkdir(parents=True)
    (hidden / "old/ride-value.avsc").write_text(RIDE, encoding="utf-8")
    hidden.chmod(0)
    try:
        ended = without_rights(*words.split())
    finally:
        hidden.chmod(0o755)
    assert (ended.code, ": Permission denied; give this user the right to" in ended.err) == (14, True), ended


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("check broken.avsc --against ride.avsc", "the text is empty; expected a schema"),
        ("check binary.avsc --against ride.avsc", "byte 0xff is not UTF-8"),
        ("check folder.avsc --against ride.avsc", "There is no schema file here (.avsc, .proto, .schema.json"),
        ("generate contract folder.avsc", "folder.avsc is a folder; name a file in it"),
    ],
)
def test_a_schema_file_that_is_none(
    counterfoil: Callable[..., Outcome], tmp_path: Path, words: str, advice: str
) -> None:
    (tmp_path / "ride.avsc").write_text(RIDE, encoding="utf-8")
    (tmp_path / "broken.avsc").touch()
    (tmp_path / "binary.avsc").write_bytes(b"\xff\0\x80")
    (tmp_path / "folder.avsc").mkdir()
    ended = counterfoil(*words.split())
    assert (ended.code != 0, advice in ended.out + ended.err) == (True, True), ended


def test_a_machine_without_git(counterfoil: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "ride.avsc").write_text(RIDE, encoding="utf-8")
    settings = {"PATH": str(tmp_path / "nothing")}
    for words in ("check ride.avsc --against ride.avsc", "check ride.avsc --against .", "diff ride.avsc ride.avsc"):
        ended = counterfoil(*words.split(), settings=settings)
        assert ended.code == 0, ended
    for words in ("check", "check --against main", "check --staged", "diff main:ride.avsc ride.avsc"):
        ended = counterfoil(*words.split(), settings=settings)
        assert (ended.code, "git is not installed, or not on the PATH: install it" in ended.err) == (14, True), ended


def test_a_backup_that_cannot_be_written(without_rights: Callable[..., Outcome], closed_folder: Path) -> None:
    ended = without_rights("export", "backup.jsonl", "--registry", "http://127.0.0.1:9", folder=closed_folder)
    assert (ended.code, "name a file in a folder in which this user may write" in ended.err) == (14, True), ended


@pytest.mark.parametrize(
    ("place", "advice"),
    [
        ("--host 127.0.0.1 --port {used}", "end the program that uses the port, or name another one with --port"),
        ("--host 192.0.2.1 --port 0", "name an address of this machine with --host"),
    ],
)
def test_an_address_that_cannot_be_used(installed: Callable[..., Outcome], place: str, advice: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        options = place.format(used=taken.getsockname()[1]).split()
        ended = installed("serve", "--store", "sqlite://", *options)
    assert (ended.code, advice in ended.err) == (14, True), ended


@pytest.mark.parametrize("settings", NARROW, ids=["ascii", "ascii, and printed so", "printed as ascii"])
def test_a_locale_without_utf_8(installed: Callable[..., Outcome], tmp_path: Path, settings: Mapping[str, str]) -> None:
    (tmp_path / "schémas").mkdir()
    (tmp_path / "schémas/før.avsc").write_text(RIDE, encoding="utf-8")
    (tmp_path / "schémas/nach.avsc").write_text(RIDE.replace("double", "string"), encoding="utf-8")
    pair = ("schémas/nach.avsc", "--against", "schémas/før.avsc")
    ended = installed("check", *pair, settings=settings)
    assert (ended.code, "type-mismatch" in ended.out) == (1, True), ended
    reported = installed("check", *pair, "--json", settings=settings)
    assert reported.rules == ["type-mismatch"]
    written = installed("init", settings=settings)
    assert written.code == 0, written
    assert "schémas/" in (tmp_path / "counterfoil.yaml").read_text(encoding="utf-8")
    assert installed("diff", "schémas/før.avsc", "schémas/nach.avsc", settings=settings).code == 0
    laid = installed("tutorial", "quickstart", "dépôt", settings=settings)
    assert laid.code == 0, laid
    assert installed("check", folder=tmp_path / "dépôt", settings=settings).code == 1


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (
            ("check", r"schemas\ride.avsc", "--against", "schemas/ride.avsc"),
            "paths are written with /, as in 'schemas/ride.avsc'",
        ),
        (("lint", r"schemas\ride.avsc"), "paths are written with /, as in 'schemas/ride.avsc'"),
        (("diff", r"schemas\ride.avsc", "schemas/ride.avsc"), "paths are written with /, as in 'schemas/ride.avsc'"),
        (("diff", r"C:\x\ride.avsc", "schemas/ride.avsc"), "no file 'C:\\x\\ride.avsc'; paths are written with /"),
        (("diff", "C:/x/ride.avsc", "schemas/ride.avsc"), "there is no file 'C:/x/ride.avsc'"),
        (("generate", "contract", r"C:\x\ride.avsc"), "as in 'C:/x/ride.avsc'"),
        (("check", "schemas", "--against", r"C:\x"), "there is no file or folder 'C:\\x'; paths are written with /"),
        (("check", "schemas", "--config", "broken.yaml"), "broken.yaml:1:28: not YAML: a backslash in double quotes"),
    ],
)
def test_a_path_with_backslashes(counterfoil: Callable[..., Outcome], tmp_path: Path, words: str, advice: str) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/ride.avsc").write_text(RIDE, encoding="utf-8")
    (tmp_path / "broken.yaml").write_text(r'schemas: [{files: "schemas\*.avsc", subject: ride-value}]')
    ended = counterfoil(*words)
    assert (ended.code, advice in ended.err) == (14, True), ended


def test_a_system_without_a_module_of_python(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('fcntl', 'resource'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.modules.pop('fcntl', None), sys.modules.pop('resource', None)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from counterfoil.contracts.cli import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "serve", "--store", "sqlite://", "--port", "0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 14, done.stderr
    assert "or WSL or a container on Windows" in done.stderr


@pytest.mark.parametrize(
    ("version", "home", "found"),
    [
        ("", "", "none is on the PATH. Install one, for example apt-get install openjdk-17-jre-headless"),
        ('openjdk version "11.0.2" 2019', "", "is version 11. Install one"),
        ("", "/nowhere", "/nowhere/bin/java is no working Java. Install one"),
    ],
)
def test_a_machine_without_java(
    counterfoil: Callable[..., Outcome], tmp_path: Path, version: str, home: str, found: str
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    if version:
        java = programs / "java"
        java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
        java.chmod(0o755)
    settings = {"PATH": str(programs), "JAVA_HOME": home, "COUNTERFOIL_CACHE": str(tmp_path / "cache")}
    ended = counterfoil("bridge", "prepare", settings=settings)
    assert (ended.code, "Spark 4.0 needs Java 17 or newer" in ended.err, found in ended.err) == (14, True, True), ended


def test_a_proxy_that_does_not_answer(counterfoil: Callable[..., Outcome]) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as closing_soon:
        port = closing_soon.getsockname()[1]
    asked = ("subjects", "list", "--registry", "http://registry.invalid:8081", "--retries", "0", "--timeout", "2")
    proxy = {"COUNTERFOIL_REGISTRY_PROXY": f"http://ana:secret@127.0.0.1:{port}"}
    ended = counterfoil(*asked, settings=proxy)
    assert (ended.code, f"it was sent through the proxy http://127.0.0.1:{port}" in ended.err) == (11, True), ended
    assert "secret" not in ended.err
    unread = counterfoil(*asked, settings={"HTTPS_PROXY": f"http://127.0.0.1:{port}"})
    assert "HTTPS_PROXY is not read here, name a proxy with COUNTERFOIL_REGISTRY_PROXY" in unread.err, unread


class Make:
    """``make`` on the project's Makefile, with an environment of its own and programs that stand for others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / "venv"
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name in ("make", "sh", "bash", "test", "touch", "echo", "awk", "dirname", "uname"):
            if found := shutil.which(name):
                (self.programs / name).symlink_to(found)

    def program(self, path: Path, text: str) -> Path:
        """Make a program of the shell at ``path``."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def __call__(self, target: str, *more: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["make", "--no-print-directory", f"VENV={self.venv}", *more, target],
            cwd=ROOT,
            env={"PATH": str(self.programs), "HOME": str(self.folder), **settings},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return Make(tmp_path)


def test_an_installation_on_an_older_python(make: Make) -> None:
    old = make.program(make.folder / "python3.10", 'case "$1" in --version) echo Python 3.10.12;; *) exit 1;; esac')
    ended = make("install", f"PYTHON={old}")
    assert ended.returncode != 0
    assert "counterfoil needs Python 3.11 or newer; " in ended.stdout
    assert "Python 3.10.12. Name another one: make PYTHON=python3.12 install" in ended.stdout


def test_an_installation_without_a_network(make: Make) -> None:
    python = make.program(make.folder / "python3", "exit 0")
    make.program(make.venv / "bin/python", 'case "$*" in *pip*) exit 1;; *) exit 0;; esac')
    ended = make("install", f"PYTHON={python}")
    assert ended.returncode != 0
    assert "The packages could not be downloaded" in ended.stdout, ended
    assert "PIP_INDEX_URL" in ended.stdout


def test_an_installation_without_a_compiler(make: Make) -> None:
    make.program(make.venv / "bin/python", "exit 0")
    (make.venv / ".installed").touch()
    ended = make(f"{make.venv}/.accelerator")
    assert ended.returncode == 0, ended
    assert "cargo is not installed, so the accelerator is left out" in ended.stdout
    assert "(docs/accelerator.md)" in ended.stdout
    refused = make(f"{make.venv}/.accelerator", COUNTERFOIL_REQUIRE_ACCELERATOR="1")
    assert refused.returncode != 0
    assert "install Rust from https://rustup.rs" in refused.stdout
