"""The option that names the project file, and the project that it opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from counterfoil.contracts.project.finding import ProjectFile
    from counterfoil.contracts.project.model import Project
    from counterfoil.sdk.registry_options import RegistryAccess

project_option: Final = click.option(
    "--config",
    metavar="FILE",
    envvar="COUNTERFOIL_CONFIG",
    help="The project file. Default: the nearest counterfoil.yaml.  [COUNTERFOIL_CONFIG]",
)


def chosen_project(config: str | None, *, top: str | None = None) -> ProjectFile | None:
    """Return the project that ``--config`` names, else the nearest one up to ``top``; None where there is none."""
    from pathlib import Path

    from counterfoil.contracts.project.finding import find_project, open_project

    return open_project(Path(config)) if config else find_project(".", top=top)


def registry_of(access: RegistryAccess, project: Project | None) -> RegistryAccess:
    """Return the access to the registry that is given, or else to that of the project."""
    return access if project is None else access.at(access.url or project.settings.registry)
