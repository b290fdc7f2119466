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

    server_of(Tools(registry.open), version=find_installed().version).run("stdio")
