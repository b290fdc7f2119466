"""How a command's registry is reached: what options, variables and URLs come to together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from counterfoil.contracts.cli.root import root_command
from counterfoil.sdk.client.settings import BasicAuth, BearerToken
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, RegistryRole, registry_options
from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.sdk.client.settings import RegistrySettings

OTHER = RegistryRole("other", "COUNTERFOIL_OTHER_", prefix="other-", spellings=("--other",), whose="the other one")


def settings_of(*arguments: str, **variables: str) -> dict[str, RegistrySettings]:
    """What a command that talks to two registries gets for ``arguments`` and ``variables``."""
    found: dict[str, RegistrySettings] = {}

    @click.command()
    @registry_options(THE_REGISTRY, OTHER)
    def command(registry: RegistryAccess, other: RegistryAccess) -> None:
        found.update(
            registry=registry.settings(), other=other.at("http://other.test").settings(timeout_s=30, retries=7)
        )

    done = CliRunner().invoke(command, arguments, env=variables)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return found


URL = {"COUNTERFOIL_REGISTRY_URL": "http://registry.test"}
LOGINS = (
    "user",
    "token",
    "token-file",
    "oauth-token-url",
    "oauth-client-id",
    "oauth-client-secret-file",
    "oauth-scope",
)
SHARED = ("--ca-file", "--certificate-file", "--key-file")


def commands_below(command: click.Command, context: click.Context) -> Iterator[tuple[str, set[str]]]:
    """Yield every command with its options."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands_below(found, click.Context(found, parent=context, info_name=name))
    else:
        yield context.command_path, {each for option in command.get_params(context) for each in option.opts}


def test_every_command_that_names_a_registry_takes_every_login() -> None:
    root = root_command()
    asked = 0
    for path, options in commands_below(root, click.Context(root, info_name="counterfoil")):
        prefixes = {each.removeprefix("--").removesuffix("token") for each in options if each.endswith("token")}
        if {"--url", "--registry"} & options and path != "counterfoil init":  # which writes an address into a file
            assert "" in prefixes, path
        for prefix in prefixes:
            asked += 1
            assert {f"--{prefix}{login}" for login in LOGINS} | {*SHARED} <= options, (path, prefix)
    assert asked > 60


def test_options_and_variables_say_the_same():
    files = {"timeout_s": "7", "retries": "3", "ca_file": "ca.pem"}
    by_option = settings_of(
        "--registry", "http://registry.test", "--user", "me:se:cret", "--timeout-s", "7", "--retries", "3",
        "--ca-file", "ca.pem",
    )["registry"]  # fmt: skip
    by_variable = settings_of(
        **URL,
        COUNTERFOIL_REGISTRY_USER="me",
        COUNTERFOIL_REGISTRY_PASSWORD="se:cret",
        **{f"COUNTERFOIL_REGISTRY_{name.upper()}": value for name, value in files.items()},
    )["registry"]
    assert by_option == by_variable
    assert by_option.auth == BasicAuth("me", "se:cret")
    assert (by_option.read_timeout_s, by_option.retry.retries, by_option.tls.ca_file) == (7, 3, "ca.pem")


def test_a_user_with_a_password_behind_a_colon_is_one_variable():
    found = settings_of(**URL, COUNTERFOIL_REGISTRY_USER="me:se:cret")["registry"]
    assert found.auth == BasicAuth("me", "se:cret")


@pytest.mark.parametrize(
    ("arguments", "auth"),
    [
        ((), BasicAuth("env", "secret")),
        (("--token", "t"), BearerToken("t")),
        (("--user", "me:x"), BasicAuth("me", "x")),
        (("--user", "me"), BasicAuth("me", "")),
        (("--registry", "http://you:y@registry.test"), BasicAuth("you", "y")),
    ],
)
def test_a_login_on_the_command_line_replaces_that_of_the_environment(arguments, auth):
    login = {"COUNTERFOIL_REGISTRY_USER": "env", "COUNTERFOIL_REGISTRY_PASSWORD": "secret"}
    assert settings_of(*arguments, **URL, **login)["registry"].auth == auth


def test_a_second_registry_has_its_own_login_and_shares_the_rest():
    found = settings_of(
        "--timeout", "4",
        **URL,
        COUNTERFOIL_REGISTRY_TOKEN="secret",
        COUNTERFOIL_REGISTRY_CA_FILE="ca.pem",
        COUNTERFOIL_OTHER_RETRIES="1",
    )["other"]  # fmt: skip
    assert found.auth is None
    assert (found.tls.ca_file, found.read_timeout_s, found.retry.retries) == ("ca.pem", 4, 1)
    assert settings_of(**URL, COUNTERFOIL_OTHER_USER="o:p")["other"].auth == BasicAuth("o", "p")


def test_what_nobody_says_is_as_the_command_has_it():
    found = settings_of(**URL)["other"]
    assert (found.read_timeout_s, found.retry.retries) == (30, 7)


def test_an_empty_variable_is_not_set():
    assert settings_of(**URL, COUNTERFOIL_REGISTRY_USER="", COUNTERFOIL_REGISTRY_TOKEN="t")["registry"].auth


def test_what_is_wrong_is_named_as_it_is_spelled():
    with pytest.raises(InvalidSettings, match="COUNTERFOIL_OTHER_TIMEOUT_S is not a number"):
        settings_of(**URL, COUNTERFOIL_OTHER_TIMEOUT_S="soon")
    with pytest.raises(InvalidSettings, match="COUNTERFOIL_OTHER_USER and COUNTERFOIL_OTHER_TOKEN are both set"):
        settings_of(**URL, COUNTERFOIL_OTHER_USER="me", COUNTERFOIL_OTHER_TOKEN="t")


def test_a_missing_url_is_a_usage_error_that_names_both_spellings():
    with pytest.raises(click.UsageError, match="--registry or COUNTERFOIL_REGISTRY_URL"):
        RegistryAccess(THE_REGISTRY, {}).settings()
