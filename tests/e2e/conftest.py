"""The installed command and real git repositories, as the tests of the command line use them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run as run_command
from local_services.process import PATIENCE_S
from strategies.machine.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

EXECUTABLE = Path(sys.executable).with_name("counterfoil")


@pytest.fixture
def installed(tmp_path: Path) -> Callable[..., Outcome]:
    """A function that runs the installed command as a process, outside of the folders that a test makes for itself.

    ``before`` are the words of a program that runs the command.
    """

    def run(
        *arguments: object,
        folder: Path | None = None,
        settings: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> Outcome:
        done = subprocess.run(
            [*before, str(EXECUTABLE), *map(str, arguments)],
            cwd=folder or tmp_path,
            env={**git_environment(tmp_path), **(settings or {})},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=PATIENCE_S,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def counterfoil(tmp_path: Path) -> Callable[..., Outcome]:
    """A function like ``installed`` that runs the command inside this process, which takes a fraction of the time."""

    def run(*arguments: object, folder: Path | None = None, settings: Mapping[str, str] | None = None) -> Outcome:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        environment = {**git_environment(tmp_path), **(settings or {})}
        with chdir(folder or tmp_path), _environment(environment), redirect_stdout(out), redirect_stderr(err):
            code = run_command(root_command(), [*map(str, arguments)])
        return Outcome(code, *(each.buffer.getvalue().decode(errors="replace") for each in (out, err)))

    return run


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Have these variables alone in the environment of this process."""
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(variables)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def git_environment(home: Path) -> dict[str, str]:
    """This process's environment with a git that knows no settings of this machine, and no registry."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "COUNTERFOIL_"))}
    return {
        **inherited,
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(home),
        **{f"GIT_{who}_{what}": "dev@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }


class Workshop:
    """A git repository in which a test plays the developer."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self._home = home

    def environment(self) -> dict[str, str]:
        """The variables of a process that works in the repository, with the commands of this installation."""
        path = os.pathsep.join([str(EXECUTABLE.parent), os.environ["PATH"]])
        return {**git_environment(self._home), "PATH": path}

    def run(self, *words: object, folder: str = ".", settings: Mapping[str, str] | None = None) -> Outcome:
        """How a program ended that was run in the repository."""
        done = subprocess.run(
            [*map(str, words)],
            cwd=self.folder / folder,
            env={**self.environment(), **(settings or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def git(self, *arguments: object) -> str:
        """What git prints."""
        return subprocess.run(
            ["git", *map(str, arguments)],
            cwd=self.folder,
            env=git_environment(self._home),
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def write(self, path: str, content: object) -> Path:
        """The file at ``path`` with ``content``: bytes, text, or a value that becomes JSON with one member a line."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
        return place

    def commit(self, message: str = "a change") -> str:
        """The hash of a new commit with everything in the working tree."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A new repository on the branch ``main``, without commits."""
    folder = tmp_path / "workshop"
    folder.mkdir()
    made = Workshop(folder, tmp_path)
    made.git("init", "--quiet", "--initial-branch", "main")
    return made


def order_schema(**fields: object) -> dict[str, object]:
    """The schema of ``shop.Order`` with these fields; a value that is a dict is the field object itself."""
    made = [
        {"name": name, **given} if isinstance(given, dict) and "type" in given else {"name": name, "type": given}
        for name, given in fields.items()
    ]
    return {"type": "record", "name": "Order", "namespace": "shop", "fields": made}


@pytest.fixture
def order() -> Callable[..., dict[str, object]]:
    """A function from fields to the schema of ``shop.Order``."""
    return order_schema
