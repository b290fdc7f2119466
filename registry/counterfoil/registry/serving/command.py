"""``counterfoil serve``: run the registry. The server is imported only when the command runs."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from counterfoil.schema.errors import needed_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.registry.settings import Setting


class _ServeCommand(click.Command):
    """A command with one option for each setting; the value of an option that is not given is None.

    The options are created when they are first needed: the list of commands needs none of them.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the settings, followed by the command's own."""
        if not any(parameter.name == "host" for parameter in self.params):
            self.params[:0] = _setting_options()
        return super().get_params(ctx)


class _ValueOf(click.ParamType):
    """The value of a setting, as the command line spells it."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.name = {int: "integer", float: "number", tuple: "text,text"}.get(type(setting.default), "text")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value, or raise a usage error that names the permitted values."""
        from counterfoil.registry.settings_reading import parse_text

        try:
            return parse_text(self._setting, value)
        except ValueError as problem:
            self.fail(f"{value[:80]!r}; expected {problem}", param, ctx)


def _setting_options() -> Iterator[click.Option]:
    from counterfoil.registry.settings import SETTINGS, shown

    for setting in SETTINGS:
        about = f"{setting.about}  [default: {shown(setting.default) or 'none'}]"
        if isinstance(setting.default, bool):
            spellings = [f"{setting.flag}/{setting.negative_flag}", setting.name]
            yield click.Option(spellings, default=None, help=about)
        else:
            yield click.Option([setting.flag, setting.name], type=_ValueOf(setting), help=about)


@click.command(cls=_ServeCommand)
@click.option(
    "--settings",
    "settings_file",
    metavar="FILE",
    help="A YAML file with settings, such as `port: 8081`; also COUNTERFOIL_SETTINGS.",
)
@click.option("--print-settings", is_flag=True, help="Print the value and the source of each setting, and exit.")
def serve(*, settings_file: str | None, print_settings: bool, **flags: Any) -> int:
    """Run the schema registry until SIGTERM or SIGINT.

    Prints one line with the address when the server accepts requests. Each setting can also be given by a variable of
    the environment (COUNTERFOIL_PORT for --port) or in a settings file (port). An option wins over a variable, and a
    variable wins over the file.
    """
    with _ignoring_hangups():
        from counterfoil.registry.settings_reading import check_together, resolve

        resolved = resolve(flags, os.environ, file=settings_file)
        if print_settings:
            click.echo("\n".join(resolved.lines()))
            return 0
        check_together(resolved.settings)
        with needed_by("The registry", extra="registry"):
            from counterfoil.registry.logs import configure_logging
            from counterfoil.registry.serving.tls import check_key_files
            from counterfoil.registry.serving.workers import serve_with
        configure_logging()  # its warnings are lines of the log as well
        check_key_files(resolved.settings)
        return serve_with(resolved.settings)


@contextmanager
def _ignoring_hangups() -> Iterator[None]:
    """Ignore SIGHUP, which would end the process, until the server listens to it: at the start it reads all files."""
    if threading.current_thread() is not threading.main_thread():  # Python sets signals in the main thread alone
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
