"""The format of a store: a number that it carries, and that this version of counterfoil knows."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.domain.errors import StoreNotUsable

FORMAT: Final = 2
"""What this version reads and writes: the number of the newest module in ``store/migrations/versions``."""


def check_format(found: int, *, shown: str, url: str) -> None:
    """Return when a store of the format ``found`` can be used as it is; else ``StoreNotUsable`` says what to do."""
    if found > FORMAT:
        raise StoreNotUsable(
            f"{shown} was written by a newer counterfoil (store format {found}, this one knows {FORMAT}); "
            "upgrade counterfoil"
        )
    if found < FORMAT:
        raise StoreNotUsable(
            f"{shown} was written by an older counterfoil (store format {found}, this one needs {FORMAT}); "
            f"stop its servers, back it up, and run: counterfoil db upgrade --store {url}"
        )
