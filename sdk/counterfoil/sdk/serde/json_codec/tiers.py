"""The packages of the extra ``json``, which do in compiled code what this folder also does in Python.

orjson writes. msgspec reads, since orjson reads integers beyond 64 bits as floats without a warning; the accelerator
finds texts with such numbers, so that with it orjson reads all others. Without both, the
modules ``write_walk`` and ``read_text`` do the same work; with them, they decide what is an error, and its message.
"""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = logging.getLogger(__name__)

try:
    import msgspec
    import orjson
except ImportError as missing:
    is_compiled = False
    _LOG.debug("JSON is read and written in Python, since %s is not installed; the extra json has it", missing.name)
else:
    is_compiled = True

_MSGPACK_NOT_FINITE = (b"\xcb\x7f", b"\xcb\xff")
"""How a float that is not finite begins in MessagePack; a very large float may begin so, too, but no text holds it."""


def compiled_reader() -> Callable[[bytes], Any]:
    """Return the compiled reader of JSON texts, which raises ``ValueError`` or ``RecursionError``."""
    return msgspec.json.Decoder().decode


def fast_reader() -> Callable[[bytes], Any]:
    """Return ``orjson.loads``, which reads integers beyond 64 bits as floats; it raises ``ValueError``."""
    return orjson.loads


def compiled_writer() -> Callable[..., bytes]:
    """Return ``orjson.dumps``, which writes null for NaN and infinite numbers, and takes :func:`form_of` second.

    It raises ``TypeError`` for values that it cannot write, integers beyond 64 bits among them.
    """
    return orjson.dumps


def form_of(value: object) -> Any:
    """Return how orjson writes a value of a type that it does not know."""
    if isinstance(value, Decimal) and value.is_finite():
        return orjson.Fragment(str(value))
    raise TypeError(type(value).__name__)


def refuse_not_finite(value: Any, nulls: int) -> None:
    """Raise ``ValueError`` if a number in ``value`` may be NaN or infinite, for which both packages write null.

    ``nulls`` is how often the text of the value has ``null`` in it. Often these are the properties that are None; else
    numbers are found in another encoding of the value, which takes less time than looking at each of them in Python.
    """
    if type(value) is dict and nulls == len([None for one in value.values() if one is None]):
        return
    packed = msgspec.msgpack.encode(value)
    if any(start in packed for start in _MSGPACK_NOT_FINITE):
        raise ValueError("NaN and infinite numbers have no form in JSON")
