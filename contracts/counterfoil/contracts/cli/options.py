"""Options that the checking commands share, and how their values are read.

Nothing beyond click and the standard library is imported here, since help pages load this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Command = TypeVar("_Command", bound="Callable[..., Any]")


def parse_subjects(values: Sequence[str]) -> dict[str, str]:
    """Return the subject of each file of ``FILE=SUBJECT`` values."""
    subjects: dict[str, str] = {}
    for value in values:
        path, separator, subject = value.partition("=")
        if not (separator and path and subject):
            raise click.UsageError(f"--subject {value!r} is not FILE=SUBJECT")
        if subjects.setdefault(path, subject) != subject:
            raise click.UsageError(
                f"--subject names {subjects[path]!r} and {subject!r} for {path}; a file with several subjects has a "
                "list of them in counterfoil.yaml"
            )
    return subjects


def shown_address(url: str) -> str:
    """Return ``url`` without a user name and password."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def chain(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Return a decorator that adds several options in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


fail_on_option: Final = click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "never"]),
    metavar="SEVERITY",
    help="What causes exit code 1: error, warning or never. Default: the project's, or error.",
)
"""The option about severities of commands that report findings of files."""
