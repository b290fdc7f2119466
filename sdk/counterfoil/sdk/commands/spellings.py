"""Options with one name that is shown, and former names that go on; options of which the help shows the names alone.

Nothing beyond click is imported here, since help pages load this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class RenamedOption(click.Option):
    """An option whose ``former`` names are accepted, and appear neither in the help nor in messages."""

    def __init__(self, *arguments: Any, former: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.former = tuple(former)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option to a parser, with its former names."""
        shown = self.opts
        self.opts = [*shown, *self.former]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown


class BriefOption(RenamedOption):
    """An option that shares one line of the help with all others that have the same ``about``, as ``shown``."""

    def __init__(self, *arguments: Any, about: str, shown: str = "", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.about = about
        self.shown = shown or self.opts[0]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of all options with this ``about`` for the first of them, and None for the others."""
        alike = [each for each in ctx.command.params if isinstance(each, BriefOption) and each.about == self.about]
        if alike[0] is not self:
            return None
        names = ", ".join(dict.fromkeys(each.shown for each in alike[1:]))
        return f"{self.shown}, …", f"{self.about} Also {names}." if names else self.about

    def own_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names and the help of this option alone."""
        return super().get_help_record(ctx)


def environment_option(about: str, *, former: Sequence[str] = ("--env",), **settings: Any) -> Callable[[Any], Any]:
    """Return the option ``--environment`` of a command; ``about`` is its help."""
    names = ("--environment", "environment")
    return click.option(*names, cls=RenamedOption, former=former, metavar="ENV", help=about, **settings)
