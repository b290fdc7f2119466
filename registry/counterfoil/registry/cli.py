"""``counterfoil serve``: run the registry. Light to import; the server is loaded when the command runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from counterfoil.registry.settings import SETTINGS, shown
from counterfoil.registry.settings_reading import FILE_VARIABLE, parse_text, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.settings import Setting


class _ValueOf(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click alone
    """The value of a setting, as the command line spells it."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.name = {int: "integer", float: "number", tuple: "text,text"}.get(type(setting.default), "text")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or a usage error that says what would be right."""
        try:
            return parse_text(self._setting, value)
        except ValueError as problem:
            self.fail(f"{value[:80]!r}; expected {problem}", param, ctx)


def _with_settings(command: Callable[..., int]) -> Callable[..., int]:
    """``command`` with one option for each setting, None where it is not given."""
    for setting in reversed(SETTINGS):
        about = f"{setting.about}  [default: {shown(setting.default) or 'none'}]"
        if isinstance(setting.default, bool):
            command = click.option(f"{setting.flag}/{setting.negative_flag}", setting.name, default=None, help=about)(
                command
            )
        else:
            command = click.option(setting.flag, setting.name, type=_ValueOf(setting), help=about)(command)
    return command


@click.command()
@_with_settings
@click.option(
    "--settings",
    "settings_file",
    metavar="FILE",
    help=f"A YAML file with settings, such as `port: 8081`; {FILE_VARIABLE} names it, too.",
)
@click.option("--print-settings", is_flag=True, help="Print each setting's value and where it came from, and end.")
def serve(*, settings_file: str | None, print_settings: bool, **flags: Any) -> int:
    """Run the schema registry until SIGTERM or SIGINT.

    Prints one line with the address once requests are taken. Each setting can come from the environment as well
    (COUNTERFOIL_PORT for --port), or from a settings file (port); what is nearer to the command wins.
    """
    resolved = resolve(flags, os.environ, file=settings_file)
    if print_settings:
        click.echo("\n".join(resolved.lines()))
        return 0
    try:
        from counterfoil.registry.workers import serve_with
    except ModuleNotFoundError as missing:
        raise click.ClickException(
            f"the registry needs the package {missing.name}; install it with: pip install 'counterfoil[registry]'"
        ) from None
    return serve_with(resolved.settings)
