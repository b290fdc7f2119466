"""The drivers of a registry: its own, and those of other packages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final

from counterfoil.registry.kms.local import LOCAL_SECRET, LocalKms
from counterfoil.registry.kms.vault import VaultKms
from counterfoil.registry.service.keys.wrapping import KeyWrapping
from counterfoil.registry.settings import DEFAULT_KMS_TIMEOUT_S
from counterfoil.schema.keys.vault import VaultSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.metadata import EntryPoint

    from counterfoil.registry.service.keys.wrapping import KmsDriver

DRIVERS_GROUP: Final = "counterfoil.kms_drivers"
"""The entry points of drivers: the name is the kmsType, the object makes a driver of the environment."""


def open_kms(
    environment: Mapping[str, str],
    *,
    timeout_s: float = DEFAULT_KMS_TIMEOUT_S,
    brought: Iterable[EntryPoint] | None = None,
) -> KeyWrapping:
    """Return the key management services for which ``environment`` has settings.

    ``brought`` are the entry points of other packages' drivers, by default all that are installed.
    """
    drivers: dict[str, KmsDriver] = {
        "local-kms": LocalKms(environment.get(LOCAL_SECRET)),
        "hcvault": VaultKms(VaultSettings.of_environment(environment)),
    }
    for entry in _installed_drivers() if brought is None else brought:
        drivers[entry.name] = entry.load()(environment)
    return KeyWrapping(drivers, timeout_s=timeout_s)


@cache  # reads the metadata of every installed package, which takes longer than all else in the start of a registry
def _installed_drivers() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=DRIVERS_GROUP))
