"""The settings of key encryption keys that are secrets of a key management service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECRET_ENDINGS: Final = ("token.id", "password", "secret", "token", "key")
_MASK: Final = "***"


def without_secrets(properties: Mapping[str, str]) -> dict[str, str]:
    """Return settings with ``***`` in place of the values whose names say that they are secrets.

    >>> without_secrets({"token.id": "hvs.x", "namespace": "team", "client.Secret": "x"})
    {'token.id': '***', 'namespace': 'team', 'client.Secret': '***'}
    """
    return {name: _MASK if name.lower().endswith(_SECRET_ENDINGS) else value for name, value in properties.items()}
