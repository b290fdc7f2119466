"""The options and variables by which every command names the registries that it talks to, and their one reader.

``--registry``, ``--user``, ``--token``, ``--ca-file``, ``--timeout-s`` and ``--retries`` have the variables
``COUNTERFOIL_REGISTRY_URL``, ``…_USER`` and so on; more variables have no option (``settings_from_environment``). A
command that talks to two registries has a second family, such as ``--from-user`` with ``COUNTERFOIL_FROM_USER``.

Nothing beyond click and the standard library is imported here, since help pages load this module.
"""

from __future__ import annotations

import os
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.settings import RegistrySettings

_Command = TypeVar("_Command", bound="Callable[..., Any]")

VARIABLES: Final = "COUNTERFOIL_REGISTRY_"
"""What the names of the variables begin with that say how the registry is reached."""

_CREDENTIALS: Final = ("USER", "PASSWORD", "TOKEN")
_SHARED: Final = ("CA_FILE", "TIMEOUT_S", "RETRIES", "PROXY")


class RegistryRole(NamedTuple):
    """A registry that a command talks to.

    ``parameter`` is the name under which the command's function gets its ``RegistryAccess``; ``variables`` is what its
    variables begin with, ``prefix`` what comes before ``user`` and ``token`` in its options. ``spellings`` are the
    options that give its URL; there are none where an argument gives it.
    """

    parameter: str
    variables: str
    prefix: str = ""
    spellings: tuple[str, ...] = ()
    whose: str = "the registry"
    about: str = "The registry to ask."


THE_REGISTRY: Final = RegistryRole("registry", VARIABLES, spellings=("--registry", "--url"))


class RegistryAccess:
    """How one registry is reached: what the options say, and for the rest what the environment says.

    ``given`` has the values of options by the last part of the variable's name (``URL``, ``USER``); None is not given.
    """

    def __init__(self, role: RegistryRole, given: Mapping[str, object]) -> None:
        self._role = role
        self._given = {name: str(value) for name, value in given.items() if value is not None}

    def at(self, url: str | None) -> RegistryAccess:
        """The access to ``url``, which an argument of the command names, by the same options."""
        return self if url is None else RegistryAccess(self._role, {**self._given, "URL": url})

    @property
    def is_given(self) -> bool:
        """Whether the URL is named on the command line."""
        return "URL" in self._given

    @property
    def url(self) -> str | None:
        """The URL that is named on the command line or else by the environment; None where neither does."""
        return self._given.get("URL") or os.environ.get(f"{self._role.variables}URL") or None

    def settings(self, *, timeout_s: float | None = None, retries: int | None = None) -> RegistrySettings:
        """Everything a client needs; the arguments are what holds where neither option nor variable says more.

        Raises ``InvalidSettings``, and ``click.UsageError`` where no URL is given.
        """
        from counterfoil.sdk.settings_sources import settings_from_environment

        if self.url is None:
            named = f"{self._role.spellings[0]} or " if self._role.spellings else ""
            raise click.UsageError(
                f"the URL of {self._role.whose} is missing; give it as {named}{self._role.variables}URL"
            )
        by_default = {"TIMEOUT_S": timeout_s, "RETRIES": retries}
        values = {name: str(value) for name, value in by_default.items() if value is not None}
        return settings_from_environment({**self._named(values), **self._environment()}, prefix=self._role.variables)

    def open(self) -> Registry:
        """A client of the registry; see ``settings``."""
        from counterfoil.sdk.client import Registry

        return Registry(self.settings())

    def _environment(self) -> dict[str, str]:
        """The variables as they would be if every option that is given were one.

        A login on the command line, alone or in the URL, replaces that of the environment as a whole.
        """
        variables = self._role.variables
        shared = {f"{variables}{name}": os.environ.get(f"{VARIABLES}{name}", "") for name in _SHARED}
        own = {name: value for name, value in os.environ.items() if name.startswith(variables) and value}
        if self._has_login():
            own = {name: value for name, value in own.items() if name.removeprefix(variables) not in _CREDENTIALS}
        merged = {**shared, **own, **self._named(self._given)}
        return {name: value for name, value in merged.items() if value}

    def _has_login(self) -> bool:
        return "USER" in self._given or "TOKEN" in self._given or "@" in self._given.get("URL", "")

    def _named(self, values: Mapping[str, str]) -> dict[str, str]:
        return {f"{self._role.variables}{name}": value for name, value in values.items()}


def registry_options(*roles: RegistryRole) -> Callable[[_Command], _Command]:
    """A decorator that adds the options of every role and hands over one ``RegistryAccess`` for each."""

    def decorate(command: _Command) -> _Command:
        def with_access(*arguments: Any, **given: Any) -> Any:
            shared = {name: given.pop(name.lower()) for name in ("CA_FILE", "TIMEOUT_S", "RETRIES")}
            for role in roles:
                given[role.parameter] = RegistryAccess(role, {**_own_values(role, given), **shared})
            return command(*arguments, **given)

        decorated: Any = update_wrapper(with_access, command)
        for option in reversed([*(each for role in roles for each in _own_options(role)), *_shared_options()]):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]  # click's decorators return what they decorate

    return decorate


def _own_values(role: RegistryRole, given: dict[str, Any]) -> dict[str, Any]:
    """The values of the options that ``role`` alone has, taken out of ``given``."""
    return {
        name: given.pop(parameter) for name, parameter in _parameters(role).items() if name != "URL" or role.spellings
    }


def _parameters(role: RegistryRole) -> dict[str, str]:
    return {name: f"{role.parameter}_{name.lower()}" for name in ("URL", "USER", "TOKEN")}


def _own_options(role: RegistryRole) -> list[Callable[[Any], Any]]:
    names = _parameters(role)
    options = [
        click.option(
            f"--{role.prefix}user",
            names["USER"],
            metavar="NAME:PASSWORD",
            help=f"Basic authentication at {role.whose}.  [{role.variables}USER, {role.variables}PASSWORD]",
        ),
        click.option(
            f"--{role.prefix}token",
            names["TOKEN"],
            metavar="TOKEN",
            help=f"Bearer token for {role.whose}.  [{role.variables}TOKEN]",
        ),
    ]
    if role.spellings:
        about = f"{role.about}  [{role.variables}URL]"
        options.insert(0, click.option(*role.spellings, names["URL"], metavar="URL", help=about))
    return options


def _shared_options() -> list[Callable[[Any], Any]]:
    return [
        click.option(
            "--ca-file",
            metavar="FILE",
            help=f"Certificates to trust, in place of those that come with httpx.  [{VARIABLES}CA_FILE]",
        ),
        click.option(
            "--timeout-s",
            "--timeout",
            "timeout_s",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help=f"How long to wait for an answer.  [{VARIABLES}TIMEOUT_S]",
        ),
        click.option(
            "--retries",
            type=click.IntRange(min=0),
            metavar="N",
            help=f"How often a request is made again after no answer, 429 or 5xx.  [{VARIABLES}RETRIES]",
        ),
    ]
