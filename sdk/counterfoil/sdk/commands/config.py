"""``counterfoil config``: compatibility levels and the other settings of a registry, a context or a subject."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from counterfoil.sdk.commands.output import as_json, confirmed, place_of, print_json, print_rows
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.schema.rest.config import Config
    from counterfoil.sdk.registry_options import RegistryAccess


@click.group()
def config() -> None:
    """Show and change compatibility levels and the other settings of a registry, a context or a subject."""


@config.command(name="get")
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@click.option("--own", is_flag=True, help="Only what is set here, not what is inherited.")
@as_json
def get_config(subject: str | None, registry: RegistryAccess, own: bool, as_json: bool) -> None:
    """Print the settings in effect for SUBJECT, for a context (:.NAME:), or for the registry.

    Exit codes: 0 printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 nothing is set (with --own).
    """
    with registry.open() as client:
        _print(client.config(subject, default_to_global=not own), as_json=as_json)


@config.command(name="set")
@click.argument("changes", metavar="KEY=VALUE...", nargs=-1, required=True)
@click.option("--subject", metavar="SUBJECT", help="The subject, or a context (:.NAME:). Default: the whole registry.")
@registry_options(THE_REGISTRY)
@as_json
def set_config(
    changes: tuple[str, ...],
    subject: str | None,
    registry: RegistryAccess,
    as_json: bool,
) -> None:
    """Change settings, such as `compatibility=FULL` or `normalize=true`; all others stay as they are.

    The keys are those of the REST API. `KEY=` unsets a key, and `KEY=@FILE` reads its JSON value from a file
    (defaultMetadata, overrideMetadata, defaultRuleSet, overrideRuleSet).

    Exit codes: 0 changed, 2 usage, 11 registry unreachable, 12 registry refused, 14 not permitted, or no such file.
    """
    change, clear = _read_changes(changes)
    with registry.open() as client:
        _print(client.set_config(subject, change, clear=clear), as_json=as_json)


@config.command(name="delete")
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@confirmed
@as_json
def delete_config(subject: str | None, registry: RegistryAccess, is_confirmed: bool, as_json: bool) -> None:
    """Delete the settings of SUBJECT, of a context, or of the registry, so that the inherited ones apply again.

    Without --yes only print what would be deleted.

    Exit codes: 0 deleted or printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 nothing is set.
    """
    with registry.open() as client:
        found = client.delete_config(subject) if is_confirmed else client.config(subject)
    if not as_json:
        click.echo(f"{'Deleted' if is_confirmed else 'Would delete'} the settings of {place_of(subject)}:")
    _print(found, as_json=as_json)
    if not is_confirmed and not as_json:
        click.echo("Nothing was deleted. Add --yes to delete.")


def _print(found: Config, *, as_json: bool) -> None:
    from counterfoil.schema.rest.config import config_document

    document = config_document(found)
    if as_json:
        print_json(document)
        return
    print_rows((key, value if isinstance(value, str) else json.dumps(value)) for key, value in document.items())


def _read_changes(changes: tuple[str, ...]) -> tuple[Config, list[str]]:
    """Return the settings to set, and the names of the fields to unset; an unknown key is a ``UsageError``."""
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy, RegistrationPolicy
    from counterfoil.schema.errors import RegistryError
    from counterfoil.schema.rest.config import CONFIG, CONFIG_KEYS, unread_settings
    from counterfoil.schema.rest.json_values import RequestJson
    from counterfoil.schema.rest.unknown_members import unknown_members

    name_by_key = {key: name for name, key in CONFIG_KEYS.items()}
    document: dict[str, Any] = {}
    clear: list[str] = []
    for change in changes:
        key, separator, value = change.partition("=")
        if not separator or key not in name_by_key:
            raise click.UsageError(f"{change!r} is not KEY=VALUE with one of the keys {', '.join(name_by_key)}")
        if value:
            document[key] = _file_content(key, value[1:]) if value.startswith("@") else value
        else:
            clear.append(name_by_key[key])
    if unknown := list(unknown_members(document, CONFIG)):
        raise click.UsageError(f"{', '.join(unknown)}: there is no such member; it would be ignored")
    try:
        read = CONFIG.read_fields(RequestJson(document, root="The settings"))
    except RegistryError as error:
        raise click.UsageError(str(error)) from error
    if unread := unread_settings(document, read):
        key = unread[0]
        known = ", ".join((*CompatibilityPolicy, *RegistrationPolicy))
        raise click.UsageError(f"{key}: {document[key]!r} is not known; expected one of {known}")
    return CONFIG.kind(**read), clear


def _file_content(key: str, path: str) -> Any:
    try:
        return json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise click.UsageError(f"{key}: {path} is not JSON: {error}") from error
