"""``counterfoil mcp``: read-only tools for language models, over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.sdk.registry_options import RegistryAccess


@click.command()
@registry_options(THE_REGISTRY)
def mcp(registry: RegistryAccess) -> None:
    """Serve read-only tools over the Model Context Protocol, on standard input and output, until the input ends.

    A program with a language model starts this command. The tools find, read, compare and check schemas, say who reads
    a field and whether a version may be deployed, decode messages and explain rules. They do what the credentials of
    the options and variables permit, and change nothing. Without a registry, a change is checked against a given text.

    Exit codes: 0 the input ended, 2 usage, 14 the extra mcp is not installed.
    """
    from counterfoil.schema.extras import needed_by

    with needed_by("The server of tools", extra="mcp"):
        from counterfoil.contracts.assistants.server import server_of
    from counterfoil.contracts.assistants.tools import Tools
    from counterfoil.contracts.cli.installed import find_installed

    tools = Tools(registry.open)
    server_of(tools, version=find_installed().version, sentence_of=_sentence_of).run("stdio")


def _sentence_of(error: Exception) -> str:
    """Return the sentence about an error; a bug has its traceback in a file."""
    from counterfoil.contracts.cli.run import exit_code_for, keep_traceback
    from counterfoil.schema.exit_codes import ExitCode

    if isinstance(error, click.ClickException):
        return error.format_message()
    text = str(error) or type(error).__name__
    if exit_code_for(error) is not ExitCode.BUG:
        return text
    return f"unexpected {type(error).__name__}: {text} ({keep_traceback(error)})"
