"""The root command over tables of its own, and how every error ends."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import click
import pytest

from counterfoil.contracts.baselines import shown_path
from counterfoil.contracts.cli.options import Output, parse_outputs, shown_address
from counterfoil.contracts.cli.root import command_table
from counterfoil.contracts.cli.run import COMMAND_GROUP, exit_code_for, parse_entries, run
from counterfoil.contracts.errors import PreconditionFailed, UsageMistake
from counterfoil.contracts.reports import printable
from counterfoil.schema.errors import (
    BadRequest,
    CounterfoilError,
    Forbidden,
    IncompatibleSchema,
    MissingExtra,
    RegistryError,
    StoreUnavailable,
    SubjectNotFound,
    Unauthorized,
)
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.errors import RegistryUnavailable

# Commands that the tables below point to, as a room's module would hold them.


@click.command(short_help="Ends well.")
@click.option("--code", type=int)
def fine(code):
    return code


@click.command()
def needs_extra():
    import nowhere_to_be_found  # noqa: F401


@click.command()
def own_bug():
    import counterfoil.nowhere  # noqa: F401


@click.group()
def room():
    """A group of commands."""


@room.command()
def inner():
    return ExitCode.PENDING


def table(**values):
    text = "\n".join([f"[{COMMAND_GROUP}]", *(f"{name} = {value}" for name, value in values.items())])
    return command_table(parse_entries(text, COMMAND_GROUP), version="1.2.3")


def here(name):
    return f"{__name__}:{name}"


@pytest.fixture(autouse=True)
def importable():
    """This module can be imported by its name, as an entry point does."""
    sys.modules[__name__] = sys.modules.get(__name__) or sys.modules["test_contracts_cli"]


def raising(error):
    def fail():
        raise error

    return click.Command("fail", callback=fail)


def test_a_commands_return_value_is_the_exit_code():
    commands = table(fine=here("fine"), room=here("room"))
    assert run(commands, ["fine"]) == 0
    assert run(commands, ["fine", "--code", "13"]) == 13
    assert run(commands, ["room", "inner"]) == ExitCode.PENDING


def test_a_module_that_an_extra_brings_is_named_with_it(capsys):
    assert run(table(x=here("needs_extra") + " [registry]"), ["x"]) == ExitCode.PRECONDITION
    said = capsys.readouterr().err
    assert said == (
        'counterfoil: x needs nowhere_to_be_found, which is not installed: pip install "counterfoil[registry]"\n'
    )


def test_a_command_whose_own_module_needs_the_extra(capsys):
    commands = table(fine=here("fine"), x="nowhere_to_be_found:command [converter]")
    assert run(commands, ["x", "--any", "thing"]) == ExitCode.PRECONDITION
    assert 'pip install "counterfoil[converter]"' in capsys.readouterr().err
    assert run(commands, ["--help"]) == 0
    listed = capsys.readouterr().out
    assert "fine  Ends well." in listed
    assert 'pip install "counterfoil[converter]"' in " ".join(listed.split())


def test_a_missing_module_of_ours_is_our_bug(capsys):
    assert run(table(x=here("own_bug") + " [registry]"), ["x"]) == ExitCode.BUG
    kept = Path(capsys.readouterr().err.split()[-1].rstrip(")"))
    assert "ModuleNotFoundError" in kept.read_text()
    kept.unlink()


def test_an_unexpected_error_is_one_line_and_a_file(capsys):
    assert run(raising(KeyError("some\nthing")), []) == 20
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    kept = Path(captured.err.split()[-1].rstrip(")"))
    assert kept.name.startswith("counterfoil-")
    assert "Traceback" in kept.read_text()
    kept.unlink()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RegistryUnavailable("no answer", url="http://x", attempts=1), 11),
        (ConnectionRefusedError(), 11),
        (TimeoutError(), 11),
        (Unauthorized("no"), 12),
        (Forbidden("no"), 12),
        (StoreUnavailable("no"), 12),
        (RegistryError("bad gateway", status=502, code=502), 12),
        (IncompatibleSchema("no"), 13),
        (SubjectNotFound("no"), 14),
        (BadRequest("no"), 14),
        (PreconditionFailed("no"), 14),
        (MissingExtra("a", module="b", extra="c"), 14),
        (CounterfoilError("no"), 14),
        (PermissionError(13, "Permission denied"), 14),
        (UsageMistake("no"), 2),
        (RecursionError(), 20),
        (ValueError("no"), 20),
    ],
)
def test_where_errors_end(error, code):
    assert exit_code_for(error) == code
    if code != ExitCode.BUG:
        assert run(raising(error), []) == code


def test_an_error_may_say_its_own_code():
    class Moved(CounterfoilError):
        exit_code = ExitCode.CONFLICT

    assert exit_code_for(Moved()) is ExitCode.CONFLICT


def test_errors_are_one_line_whatever_they_say(capsys):
    assert run(raising(CounterfoilError("one\n  two")), []) == 14
    assert capsys.readouterr().err == "counterfoil: one two\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (click.UsageError("no"), 2),
        (click.ClickException("no"), 14),
        (click.Abort(), 130),
        (KeyboardInterrupt(), 130),
        (click.exceptions.Exit(7), 7),
    ],
)
def test_clicks_own_ends(error, code):
    assert run(raising(error), []) == code


def test_outputs():
    assert parse_outputs([], ("text", "json")) == (Output("text"),)
    assert parse_outputs(["json=a=b.json"], ("text", "json")) == (Output("json", "a=b.json"),)


@pytest.mark.parametrize(
    ("path", "prefix", "shown"),
    [
        ("a/b.avsc", "", "a/b.avsc"),
        ("a/b.avsc", "a", "b.avsc"),
        ("a/b.avsc", "c", "../a/b.avsc"),
        ("a/b.avsc", "a/c/d", "../../b.avsc"),
        ("b.avsc", "b.avsc", "../b.avsc"),
    ],
)
def test_paths_as_seen_from_a_folder(path, prefix, shown):
    assert shown_path(path, prefix) == shown


def test_addresses_are_shown_without_credentials():
    assert shown_address("https://me:secret@host:8081/sr") == "https://host:8081/sr"


def test_what_others_wrote_to_a_captured_stream_can_be_read(monkeypatch: pytest.MonkeyPatch):
    captured = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stderr", captured)
    assert run(fine, ["--no-such-option"]) == ExitCode.USAGE
    captured.buffer.write(b"a library wrote \xff")
    captured.seek(0)
    assert captured.read().endswith("a library wrote \\xff")


def test_control_characters_are_escaped_and_letters_kept():
    assert printable("größe\x1b[31m\n") == "größe\\x1b[31m\\n"
