"""``counterfoil completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from counterfoil.contracts.cli.installed import DISTRIBUTION

_COMPLETIONS: Final[dict[str, type[ShellComplete]]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(_COMPLETIONS)))
def completion(shell: str) -> None:
    """Print the completion of commands and options for SHELL.

    \b
    bash:  counterfoil completion bash > ~/.local/share/bash-completion/completions/counterfoil
    zsh:   counterfoil completion zsh > "${fpath[1]}/_counterfoil"
    fish:  counterfoil completion fish > ~/.config/fish/completions/counterfoil.fish

    A new shell then completes: type counterfoil and a part of a command, and press Tab.

    Exit codes: 0 printed, 2 usage.
    """  # noqa: D301 (the character by which click keeps the lines of a paragraph)
    complete = _COMPLETIONS[shell](click.Group(), {}, DISTRIBUTION, f"_{DISTRIBUTION.upper()}_COMPLETE")
    click.echo(complete.source())
