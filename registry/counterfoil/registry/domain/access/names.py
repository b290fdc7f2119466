"""Names of principals: ``User:NAME``, ``Service:NAME``, ``Group:NAME``."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.domain.access.rules import ANONYMOUS, EVERYBODY

MAX_NAME_CHARACTERS: Final = 256
USER: Final = "User:"
SERVICE: Final = "Service:"
GROUP: Final = "Group:"
STORE_OWNER: Final = "User:whoever owns the store"
"""The author of what commands do to a store that they open themselves."""

_RESERVED: Final = frozenset({ANONYMOUS, EVERYBODY, STORE_OWNER})


def is_user_name(text: str) -> bool:
    """Return whether ``text`` can be the name of a user: a name, and none that has a meaning of its own in rules.

    >>> is_user_name("alice"), is_user_name("ANONYMOUS"), is_user_name("*")
    (True, False, False)
    """
    return is_name(text) and USER + text not in _RESERVED


def is_name(text: str) -> bool:
    """Return whether ``text`` can be the name of a principal: 1 to 256 printable characters, not blank at the ends.

    >>> is_name("alice"), is_name(""), is_name(chr(0)), is_name(" alice")
    (True, False, False, False)
    """
    return 0 < len(text) <= MAX_NAME_CHARACTERS and text.isprintable() and text == text.strip()
