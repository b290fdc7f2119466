"""JSON objects that have a key twice: readers keep the last value, the first one, or refuse the message.

RFC 8259 leaves it open, so that consumers in different languages may see different values.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"([ \t\r\n]*:)?', re.DOTALL)
"""A string of a JSON text; with a colon after it, it is a key."""


class _Repeated(Exception):
    """A key is there twice."""


def repeated_key(data: bytes) -> str | None:
    """Return a key that an object of a JSON text has twice, at any depth; None if there is none, or for no JSON.

    >>> repeated_key(b'{"a": 1, "b": {"c": 1, "c": 2}}'), repeated_key(b'[{"a": 1}, {"a": 2}]')
    ('c', None)
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    keys = [name for name, colon in _STRING.findall(text) if colon]
    if len(keys) == len(set(keys)) and not any("\\" in each for each in keys):
        return None  # the whole text has no key twice
    try:
        json.loads(text, object_pairs_hook=_object)
    except _Repeated as found:
        return str(found)
    except (ValueError, RecursionError):
        return None
    return None


def _object(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _Repeated(name)
        seen.add(name)
