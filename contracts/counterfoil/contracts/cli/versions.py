"""Versions on the command line: ``APP@VERSION`` and ``CONTRACT@MAJOR``, and those that a registry does not know."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


class Versioned(NamedTuple):
    """A name with a version."""

    name: str
    version: str

    def __str__(self) -> str:
        """Return both, as sentences have them."""
        return f"{self.name} {self.version}"


class VersionedName(click.ParamType):
    """The type of ``NAME@VERSION``; the name may have an ``@`` as well. ``name`` is the form, for messages."""

    def __init__(self, form: str) -> None:
        self.name = form

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Versioned:
        """Return the two parts, or fail."""
        if isinstance(value, Versioned):
            return value
        name, _, version = str(value).rpartition("@")
        if not name or not version:
            self.fail(f"{value!r} is not {self.name}, such as {self.name.partition('@')[0].lower()}@2", param, ctx)
        return Versioned(name, version)


@contextmanager
def unknown_cannot_be_judged() -> Iterator[None]:
    """Raise ``NotKnown``, whose exit code is CANNOT_SAY, for a version or an environment that does not exist."""
    from counterfoil.contracts.errors import NotKnown
    from counterfoil.schema.errors import ApplicationNotFound, EnvironmentNotFound

    try:
        yield
    except (ApplicationNotFound, EnvironmentNotFound) as missing:
        raise NotKnown(missing.message) from None
