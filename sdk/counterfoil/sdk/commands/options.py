"""The options of commands: which registries, how they are reached, and which Kafka cluster.

Nothing beyond click and the standard library is imported at the top, since help pages load this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.client.settings import RegistrySettings
    from counterfoil.sdk.kafka import KafkaAccess


# Options with one name that is shown, and former names that go on; options of which the help shows the names alone.


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


def environment_option(about: str, *, former: Sequence[str] = ("--env",), **settings: object) -> Callable[[Any], Any]:
    """Return the option ``--environment`` of a command; ``about`` is its help."""
    names = ("--environment", "environment")
    return click.option(*names, cls=RenamedOption, former=former, metavar="ENV", help=about, **settings)


# The options and variables that name the registries which a command sends requests to, and their only reader.
#
# ``--registry``, ``--user``, ``--token``, ``--token-file``, ``--oauth-…``, ``--ca-file``, ``--certificate-file``,
# ``--key-file``, ``--timeout`` and ``--retries`` have the variables ``COUNTERFOIL_REGISTRY_URL``, ``…_USER`` and so on;
# more variables have no option (``settings_from_environment``). A command that uses two registries has a second family,
# such as ``--from-user`` with ``COUNTERFOIL_FROM_USER``.

_RegistryCommand = TypeVar("_RegistryCommand", bound="Callable[..., object]")

VARIABLES: Final = "COUNTERFOIL_REGISTRY_"
"""The prefix of the variables with the URL, the login and the time-outs of the registry."""

_OAUTH: Final = ("OAUTH_TOKEN_URL", "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET_FILE", "OAUTH_SCOPE", "OAUTH_AUDIENCE")
_LOGINS: Final = ("USER", "TOKEN", "TOKEN_FILE", "OAUTH_TOKEN_URL")
"""The ways of proving oneself; one of them given on the command line replaces all that the environment has."""
_CREDENTIALS: Final = ("USER", "PASSWORD", "PASSWORD_FILE", "TOKEN", "TOKEN_FILE", "OAUTH_CLIENT_SECRET", *_OAUTH)
_OAUTH_OPTIONS: Final = tuple(
    zip(
        _OAUTH,
        ("URL", "TEXT", "FILE", "TEXT", "TEXT"),
        (
            "Address of OAuth's tokens (client credentials)",
            "OAuth's client id",
            "File with OAuth's client secret",
            "OAuth's scope",
            "OAuth's audience",
        ),
        strict=True,
    )
)
_SHARED_OPTIONS: Final = ("CA_FILE", "CERTIFICATE_FILE", "KEY_FILE", "TIMEOUT_S", "RETRIES")
_SHARED: Final = (*_SHARED_OPTIONS, "KEY_PASSWORD", "PROXY")


class RegistryRole(NamedTuple):
    """A registry that a command sends requests to.

    ``parameter`` is the name under which the command's function gets its ``RegistryAccess``; ``variables`` is the
    prefix of its variables, ``prefix`` what comes before ``user`` and ``token`` in its options. ``spellings`` are the
    options that give its URL; there are none where an argument gives it. ``former`` are names that go on, and are not
    shown.
    """

    parameter: str
    variables: str
    prefix: str = ""
    spellings: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    whose: str = "the registry"
    about: str = "The URL of the registry."


THE_REGISTRY: Final = RegistryRole("registry", VARIABLES, spellings=("--registry",), former=("--url",))


CONNECTION: Final = (
    "Logins, TLS and time-outs: see https://github.com/counterfoil/counterfoil/blob/main/docs/reaching-a-registry.md"
)
"""The line of the options of a connection in the help of a command."""
MISSING_URL: Final = f"the URL of the registry is missing; give it as --registry or {VARIABLES}URL"
"""The message where a command needs a registry, and nothing names one."""


class RegistryAccess:
    """How one registry is reached: the values of the options, and of the environment for options that are not given.

    ``given`` has the values of options by the last part of the variable's name (``URL``, ``USER``); None is not given.
    """

    def __init__(self, role: RegistryRole, given: Mapping[str, object]) -> None:
        self._role = role
        self._given = {name: str(value) for name, value in given.items() if value is not None}

    def at(self, url: str | None) -> RegistryAccess:
        """Return the access to ``url``, an argument of the command, with the same options."""
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
        """Return the settings of a client; the arguments are defaults where neither option nor variable is given.

        Raises ``InvalidSettings``, and ``click.UsageError`` when no URL is given.
        """
        from counterfoil.sdk.client.settings_sources import settings_from_environment

        if self.url is None:
            if self._role == THE_REGISTRY:
                raise click.UsageError(MISSING_URL)
            named = f"{self._role.spellings[0]} or " if self._role.spellings else ""
            raise click.UsageError(
                f"the URL of {self._role.whose} is missing; give it as {named}{self._role.variables}URL"
            )
        if ":" in self._given.get("USER", ""):
            click.echo(
                f"counterfoil: warning: other users of this machine can see the password of --{self._role.prefix}user; "
                f"set {self._role.variables}PASSWORD instead",
                err=True,
            )
        by_default = {"TIMEOUT_S": timeout_s, "RETRIES": retries}
        values = {name: str(value) for name, value in by_default.items() if value is not None}
        return settings_from_environment({**self._named(values), **self._environment()}, prefix=self._role.variables)

    def open(self) -> Registry:
        """Return a client of the registry; see ``settings``."""
        from counterfoil.sdk.client import Registry

        return Registry(self.settings())

    def _environment(self) -> dict[str, str]:
        """Return the variables, with the value of every given option in its variable.

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
        return any(way in self._given for way in _LOGINS) or "@" in self._given.get("URL", "")

    def _named(self, values: Mapping[str, str]) -> dict[str, str]:
        return {f"{self._role.variables}{name}": value for name, value in values.items()}


def registry_options(*roles: RegistryRole) -> Callable[[_RegistryCommand], _RegistryCommand]:
    """Return a decorator that adds the options of every role and passes one ``RegistryAccess`` for each."""

    def decorate(command: _RegistryCommand) -> _RegistryCommand:
        def with_access(*arguments: object, **given: object) -> Any:
            shared = {name: given.pop(name.lower()) for name in _SHARED_OPTIONS}
            for role in roles:
                given[role.parameter] = RegistryAccess(role, {**_own_values(role, given), **shared})
            return command(*arguments, **given)

        decorated: Any = update_wrapper(with_access, command)
        for option in reversed([*(each for role in roles for each in _own_options(role)), *_shared_options()]):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]  # click's decorators return what they decorate

    return decorate


def _own_values(role: RegistryRole, given: dict[str, Any]) -> dict[str, Any]:
    """Remove the values of the options that ``role`` alone has from ``given`` and return them."""
    return {
        name: given.pop(parameter) for name, parameter in _parameters(role).items() if name != "URL" or role.spellings
    }


def _parameters(role: RegistryRole) -> dict[str, str]:
    return {name: f"{role.parameter}_{name.lower()}" for name in ("URL", "USER", "TOKEN", "TOKEN_FILE", *_OAUTH)}


def _own_options(role: RegistryRole) -> list[Callable[[Any], Any]]:
    names = _parameters(role)
    options = [
        _brief(
            f"--{role.prefix}user",
            names["USER"],
            metavar="NAME:PASSWORD",
            help=f"Basic authentication at {role.whose}.  [{role.variables}USER, {role.variables}PASSWORD]",
        ),
        _brief(
            f"--{role.prefix}token",
            names["TOKEN"],
            metavar="TOKEN",
            help=f"Bearer token for {role.whose}.  [{role.variables}TOKEN]",
        ),
        _brief(
            f"--{role.prefix}token-file",
            names["TOKEN_FILE"],
            metavar="FILE",
            help=f"File with a bearer token for {role.whose}, read again when it changes.  "
            f"[{role.variables}TOKEN_FILE]",
        ),
        *(
            _brief(
                f"--{role.prefix}{name.lower().replace('_', '-')}",
                names[name],
                metavar=metavar,
                shown=f"--{role.prefix}oauth-…",
                help=f"{about} for {role.whose}.  [{role.variables}{name}]",
            )
            for name, metavar, about in _OAUTH_OPTIONS
        ),
    ]
    if role.spellings:
        about = f"{role.about}  [{role.variables}URL]"
        url = click.option(
            *role.spellings, names["URL"], cls=RenamedOption, former=role.former, metavar="URL", help=about
        )
        options.insert(0, url)
    return options


def _brief(*names: str, **settings: object) -> Callable[[Any], Any]:
    """Return an option about how a registry is reached, which shares one line of the help with the others."""
    return click.option(*names, cls=BriefOption, about=CONNECTION, **settings)


def _shared_options() -> list[Callable[[Any], Any]]:
    return [
        _brief(
            "--ca-file",
            metavar="FILE",
            help=f"Certificates to trust, instead of those that come with httpx.  [{VARIABLES}CA_FILE]",
        ),
        _brief(
            "--certificate-file",
            metavar="FILE",
            help=f"The client's certificate, for registries that demand one.  [{VARIABLES}CERTIFICATE_FILE]",
        ),
        _brief(
            "--key-file",
            metavar="FILE",
            help=f"The key of the client's certificate.  [{VARIABLES}KEY_FILE]",
        ),
        _brief(
            "--timeout",
            "timeout_s",
            former=("--timeout-s",),
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help=f"How long to wait for a response.  [{VARIABLES}TIMEOUT_S]",
        ),
        _brief(
            "--retries",
            type=click.IntRange(min=0),
            metavar="N",
            help=f"How often a request is sent again after a time-out, a lost connection, 429 or 5xx.  "
            f"[{VARIABLES}RETRIES]",
        ),
    ]


# The options of commands that read or write topics.

_KafkaCommand = TypeVar("_KafkaCommand", bound="Callable[..., object]")

BOOTSTRAP_SERVERS: Final = "COUNTERFOIL_BOOTSTRAP_SERVERS"
"""The variable with the address of the Kafka cluster."""


def kafka_options(command: _KafkaCommand) -> _KafkaCommand:
    """Add the options of a Kafka cluster, and pass them as ``kafka``, which is None without an address."""

    def with_access(
        *arguments: object,
        bootstrap_servers: str | None,
        kafka_config: Path | None,
        client_settings: tuple[str, ...],
        **given: object,
    ) -> Any:
        return command(*arguments, kafka=_access(bootstrap_servers, kafka_config, client_settings), **given)

    decorated: Any = update_wrapper(with_access, command)
    decorated = click.option(
        "--client-setting",
        "client_settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of Kafka clients, such as security.protocol=SSL; KEY=@FILE reads it from a file. It replaces "
        "that of --kafka-config. Repeatable.",
    )(decorated)
    decorated = click.option(
        "--kafka-config",
        envvar="COUNTERFOIL_KAFKA_CONFIG",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="A properties file with settings of Kafka clients, such as those of a login, as Kafka's own tools take it "
        "(--command-config).  [COUNTERFOIL_KAFKA_CONFIG]",
    )(decorated)
    return click.option(  # type: ignore[no-any-return]  # click's decorators return what they decorate
        "--bootstrap-servers",
        envvar=BOOTSTRAP_SERVERS,
        metavar="HOST:PORT,…",
        help="The address of the Kafka cluster; without it, bootstrap.servers of --kafka-config.  "
        f"[{BOOTSTRAP_SERVERS}]",
    )(decorated)


def _access(servers: str | None, file: Path | None, given: tuple[str, ...]) -> KafkaAccess | None:
    settings: dict[str, str] = {}
    if file is not None:
        from counterfoil.sdk.kafka import read_properties

        try:
            settings = read_properties(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise click.UsageError(f"the file {file} of --kafka-config is not UTF-8 text") from None
    if servers:
        settings["bootstrap.servers"] = servers
    for one in given:
        key, separator, value = one.partition("=")
        if not separator or not key:
            raise click.UsageError(f"--client-setting {one!r} is not KEY=VALUE")
        settings[key] = Path(value[1:]).read_text(encoding="utf-8").strip() if value.startswith("@") else value
    servers = settings.pop("bootstrap.servers", None)
    if servers is None:
        return None
    from counterfoil.sdk.kafka import KafkaAccess

    return KafkaAccess(servers, settings)
