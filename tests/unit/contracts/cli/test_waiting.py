"""The line about a command that takes long: on a terminal alone, and gone at the end."""

from __future__ import annotations

import io

import pytest

from counterfoil.contracts.cli.options import Waiting
from local_services import wait_until


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class Gone(Terminal):
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        raise OSError(f"gone before {text}")


def test_a_terminal_sees_what_is_done_and_nothing_is_left() -> None:
    terminal = Terminal()
    with Waiting("checking schemas", stream=terminal, after_s=0, every_s=0.01):
        wait_until(lambda: terminal.getvalue().count("so far") > 1, what="two lines of progress")
    assert "checking schemas, 0 s so far" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_what_ends_soon_says_nothing() -> None:
    terminal = Terminal()
    with Waiting("checking schemas", stream=terminal, after_s=3600):
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("variables", [{}, {"TERM": "dumb"}])
def test_a_file_and_a_terminal_that_cannot_redraw_get_nothing(variables, monkeypatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if variables else io.StringIO()
    with Waiting("checking schemas", stream=stream, after_s=0):
        pass
    assert stream.getvalue() == ""


def test_a_terminal_that_is_gone_stops_no_command() -> None:
    with Waiting("checking schemas", stream=Gone(), after_s=0):
        pass


def test_an_error_passes_through() -> None:
    with pytest.raises(KeyError), Waiting("checking schemas", stream=Terminal(), after_s=0):
        raise KeyError("x")
