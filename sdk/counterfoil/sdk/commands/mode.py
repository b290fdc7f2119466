"""``counterfoil mode``: which operations a registry, a context or a subject permits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.sdk.commands.output import as_json, place_of, print_json
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.schema.rest.modes import Mode
    from counterfoil.sdk.registry_options import RegistryAccess

_MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD")


@click.group()
def mode() -> None:
    """Show and change which operations a registry, a context or a subject permits."""


@mode.command(name="get")
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@click.option("--own", is_flag=True, help="Only what is set here, not what is inherited.")
@as_json
def get_mode(subject: str | None, registry: RegistryAccess, own: bool, as_json: bool) -> None:
    """Print the mode in effect for SUBJECT, for a context (:.NAME:), or for the registry.

    Exit codes: 0 printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 no mode is set (with --own).
    """
    with registry.open() as client:
        _print(client.mode(subject, default_to_global=not own), as_json=as_json)


@mode.command(name="set")
@click.argument("new", metavar="MODE", type=click.Choice(_MODES, case_sensitive=False))
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@click.option("--all", "is_for_all", is_flag=True, help="Without SUBJECT: set the mode of the whole registry.")
@click.option("--force", is_flag=True, help="Permit IMPORT where versions exist.")
@as_json
def set_mode(
    new: str,
    subject: str | None,
    registry: RegistryAccess,
    is_for_all: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Set the MODE of SUBJECT, of a context (:.NAME:), or with --all of the registry.

    Exit codes: 0 set, 2 usage, 11 registry unreachable, 12 registry refused, 14 not permitted.
    """
    if (subject is None) is not is_for_all:
        raise click.UsageError("name a SUBJECT or a context (:.NAME:), or give --all for the whole registry")
    with registry.open() as client:
        _print(client.set_mode(subject, new.upper(), force=force), as_json=as_json)


@mode.command(name="delete")
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@click.option("--recursive", is_flag=True, help="Also unset the modes of the context's subjects.")
@as_json
def delete_mode(subject: str | None, registry: RegistryAccess, recursive: bool, as_json: bool) -> None:
    """Unset the mode of SUBJECT, of a context, or of the registry, so that the inherited one applies again.

    Exit codes: 0 unset, 2 usage, 11 registry unreachable, 12 registry refused, 14 no mode was set.
    """
    with registry.open() as client:
        earlier = client.delete_mode(subject, recursive=recursive)
    if as_json:
        _print(earlier, as_json=True)
    else:
        click.echo(f"The mode of {place_of(subject)} was {earlier.value if earlier else 'not set'} and is unset now.")


def _print(found: Mode | None, *, as_json: bool) -> None:
    if as_json:
        print_json({"mode": found and found.value})
    else:
        click.echo(found.value if found else "")
