"""The registry of an environment: the one that is given, or that a server of a contract names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.contracts.baselines.choose import Comparison
    from counterfoil.contracts.project.model import Project
    from counterfoil.schema.agreements.model import Agreement
    from counterfoil.sdk.registry_options import RegistryAccess


def registries_of(environment: str, agreements: Iterable[Agreement | None]) -> list[str]:
    """Return the addresses of the registries that the servers of contracts with this environment name."""
    from counterfoil.schema.agreements.model import Contract

    servers = (server for each in agreements if isinstance(each, Contract) for server in each.servers)
    found = (each.registry for each in servers if environment == (each.environment or each.name))
    return [*dict.fromkeys(address for address in found if address)]


def agreements_of(comparison: Comparison) -> Iterator[Agreement | None]:
    """Yield what the contract and product files of the side that is checked declare; None for an invalid one."""
    from counterfoil.contracts.consumers.agreements import read_file
    from counterfoil.contracts.project.mapping import agreement_test

    head, is_agreement = comparison.yaml_files, agreement_test(comparison.project, comparison.scope.wanted)
    contents = head.contents([path for path in head.paths if is_agreement(path)])
    return (read_file(path, data).reading.agreement for path, data in contents.items())


def registry_in(
    environment: str, agreements: Iterable[Agreement | None], *, given: RegistryAccess, project: Project | None
) -> RegistryAccess:
    """Return the access to the registry that knows what is live in an environment.

    It is the one that is given, else that of the project, else that of the contracts' servers. Raises ``UsageError`` if
    there is none, or more than one.
    """
    address = given.url or (project.settings.registry if project is not None else None)
    if address:
        return given.at(address)
    return given.at(only_registry(environment, registries_of(environment, agreements)))


def only_registry(environment: str, addresses: list[str]) -> str:
    """Return the only one of some addresses; raise ``UsageError`` without one, and for several."""
    if len(addresses) == 1:
        return addresses[0]
    if addresses:
        named = ", ".join(addresses)
        raise click.UsageError(
            f"--environment {environment}: contracts name several registries for it ({named}); give one"
        )
    raise click.UsageError(
        f"--environment {environment}: no registry is known for it; give --registry URL, or a contract a server with "
        f"environment: {environment} and the custom property registry"
    )
