"""The format of a store: the number of its tables' layout."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.domain.errors import StoreNotUsable

FORMAT: Final = 3
"""The format of this version: the number of the newest module in ``store/migrations/versions``."""


def check_format(found: int, *, shown: str, url: str) -> None:
    """Raise ``StoreNotUsable``, which says what to do, unless a store of the format ``found`` can be used as it is."""
    if found > FORMAT:
        raise StoreNotUsable(
            f"{shown} was written by a newer counterfoil (store format {found}, this one supports {FORMAT}); "
            "upgrade counterfoil"
        )
    if found < FORMAT:
        raise StoreNotUsable(
            f"{shown} was written by an older counterfoil (store format {found}, this one needs {FORMAT}); "
            f"stop its servers, back it up, and run: counterfoil db upgrade --store {url}"
        )
