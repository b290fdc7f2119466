"""``counterfoil completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from counterfoil.contracts.cli.installed import DISTRIBUTION


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    r"""Print the completion of commands and options for SHELL.

    \b
    bash:  counterfoil completion bash > ~/.local/share/bash-completion/completions/counterfoil
    zsh:   counterfoil completion zsh > "${fpath[1]}/_counterfoil"
    fish:  counterfoil completion fish > ~/.config/fish/completions/counterfoil.fish

    A new shell then completes: type counterfoil and a part of a command, and press Tab.

    Exit codes: 0 printed, 2 usage.
    """
    found = get_completion_class(shell)
    if found is None:  # pragma: no cover - click has the three since 8.0
        raise click.UsageError(f"this click has no completion for {shell}")
    complete = found(click.Group(), {}, DISTRIBUTION, f"_{DISTRIBUTION.upper()}_COMPLETE")
    click.echo(complete.source())
