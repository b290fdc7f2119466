"""Every option has one name in all commands; former names go on, and no help shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.sdk.commands.options import BriefOption, RenamedOption

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMER = {"--url": "--registry", "--timeout-s": "--timeout", "--env": "--environment", "--to": "--environment"}
PRINTS_A_FILE = {
    "counterfoil auth import": "an access file",
    "counterfoil completion": "a script for a shell",
    "counterfoil generate consumer": "a product file",
    "counterfoil generate contract": "a contract file",
    "counterfoil generate docs": "a page",
    "counterfoil generate fixtures": "JSON lines or messages",
    "counterfoil generate strategy": "a Python module",
    "counterfoil generate vectors": "a JSON document",
    "counterfoil mcp": "JSON-RPC, by the protocol",
    "counterfoil serve": "its address, and log lines on standard error",
}
"""Commands whose standard output is something else than a report, and what."""
PRINTS_NOTHING = {
    "counterfoil auth disable",
    "counterfoil auth service add",
    "counterfoil auth service delete",
    "counterfoil auth service disable",
    "counterfoil auth service enable",
    "counterfoil auth token revoke",
    "counterfoil auth unbind",
    "counterfoil auth user add",
    "counterfoil auth user delete",
    "counterfoil auth user disable",
    "counterfoil auth user enable",
    "counterfoil auth user passwd",
}
"""Commands that print nothing when they succeed."""


def commands() -> Iterator[tuple[str, click.Context, click.Command]]:
    """Yield every command with its path."""
    root = root_command()
    pending: list[tuple[click.Command, click.Context]] = [(root, click.Context(root, info_name="counterfoil"))]
    while pending:
        command, context = pending.pop()
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                pending.append((found, click.Context(found, parent=context, info_name=name)))
        else:
            yield context.command_path, context, command


def spelled(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    for each in command.params:
        if isinstance(each, click.Option):
            yield from ((spelling, each) for spelling in each.opts)


def test_no_command_shows_a_former_name() -> None:
    shown = [(path, name) for path, _, command in commands() for name, _ in spelled(command) if name in FORMER]
    assert shown == []
    for _, context, command in commands():
        words = command.get_help(context).split()
        assert not {name for name in FORMER if name in words or f"{name}," in words}


def test_former_names_go_on() -> None:
    found: dict[str, set[str]] = {}
    for _, context, command in commands():
        parser = command.make_parser(context)
        for name, option in spelled(command):
            for former in option.former if isinstance(option, RenamedOption) else ():
                assert name == FORMER[former]
                assert former in parser._long_opt
                found.setdefault(former, set()).add(context.command_path)
    assert {former: bool(paths) for former, paths in found.items()} == dict.fromkeys(FORMER, True)
    assert len(found["--url"]) > 50


@pytest.mark.parametrize("metavar", ["ENV"])
def test_an_environment_is_always_named_alike(metavar: str) -> None:
    names = {each.opts[0] for _, _, command in commands() for _, each in spelled(command) if each.metavar == metavar}
    assert names == {"--environment"}


def test_whatever_a_command_prints_is_there_as_json() -> None:
    without = {path for path, _, command in commands() if "--json" not in {name for name, _ in spelled(command)}}
    assert without == set(PRINTS_A_FILE) | PRINTS_NOTHING


def test_json_is_short_for_its_format() -> None:
    both = [path for path, _, command in commands() if {"--format", "--json"} <= {name for name, _ in spelled(command)}]
    assert len(both) > 10


def test_the_help_of_check_is_under_sixty_lines() -> None:
    [(context, check)] = [(context, each) for path, context, each in commands() if path == "counterfoil check"]
    narrow = click.Context(check, parent=context.parent, info_name="check", terminal_width=80)
    assert len(check.get_help(narrow).splitlines()) < 60


def test_options_of_a_connection_share_one_line() -> None:
    for path, context, command in commands():
        brief = [each for each in command.params if isinstance(each, BriefOption)]
        lines = [record for each in brief if (record := each.get_help_record(context))]
        assert len(lines) == len({each.about for each in brief}), path
        assert all(each.own_help_record(context) for each in brief)


def test_a_help_has_no_marks_of_docstrings() -> None:
    helps = {path: command.get_help(context) for path, context, command in commands()}
    assert [path for path, text in helps.items() if "``" in text or "\\b" in text or ":class:" in text] == []
