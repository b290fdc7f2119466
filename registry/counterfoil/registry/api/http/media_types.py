"""The media types of responses, and those that a body may have."""

from __future__ import annotations

from typing import Final

from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.errors import NotAcceptable, UnsupportedMediaType

V1: Final = "application/vnd.schemaregistry.v1+json"

_PRODUCED: Final = ((V1, 1.0), ("application/vnd.schemaregistry+json", 0.9), ("application/json", 0.5))
PRODUCED: Final = tuple(name for name, _ in _PRODUCED)
"""The media types of responses, the preferred one first."""

_CONSUMED: Final = frozenset({*(name for name, _ in _PRODUCED), "application/octet-stream"})


@cached_if_short(256, longest=500)
def negotiate(accept: str) -> str:
    """Return the media type of the response for this ``Accept`` header; raise ``NotAcceptable`` with the possible ones.

    The client's preference counts first, then ours: the versioned type before the plain ones.
    """
    if not accept.strip():
        return V1
    ranges = [_media_range(part) for part in accept.split(",") if part.strip()]
    ranked = [(_quality(name, ranges), weight, name) for name, weight in _PRODUCED]
    quality, _, name = max(ranked)
    if quality <= 0:
        raise NotAcceptable(
            f"None of the accepted types {accept[:200]!r} can be produced; expected one of "
            f"{', '.join(name for name, _ in _PRODUCED)}"
        )
    return name


@cached_if_short(256, longest=500)
def accepts(accept: str, name: str) -> bool:
    """Return whether the ``Accept`` header names exactly this media type."""
    return any(found == name and quality > 0 for found, quality in map(_media_range, accept.split(",")))


def _media_range(part: str) -> tuple[str, float]:
    name, *parameters = (piece.strip() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            try:
                quality = float(value)
            except ValueError:
                quality = 0.0
    return ("*/*" if _is_any_type(name) else name.lower()), quality


def _is_any_type(name: str) -> bool:
    """Return whether the range covers all types: ``*/*``, ``*`` alone, or ``*`` before any subtype.

    Some HTTP libraries write ``*``. Servers on JAX-RS read all three like this
    (``jakarta.ws.rs.core.MediaType.isCompatible``).
    """
    return name.partition("/")[0].strip() == "*"


def _quality(name: str, ranges: list[tuple[str, float]]) -> float:
    """Return the quality of ``name`` in the ``Accept`` header; the most specific range that covers it decides."""
    for wanted in (name, name.split("/", maxsplit=1)[0] + "/*", "*/*"):
        found = [quality for media_range, quality in ranges if media_range == wanted]
        if found:
            return max(found)
    return 0.0


@cached_if_short(256, longest=500)
def check_consumed(content_type: str) -> None:
    """Raise ``UnsupportedMediaType`` if a body of this type is not read; an empty type is accepted."""
    name = content_type.split(";", maxsplit=1)[0].strip().lower()
    if name and name not in _CONSUMED:
        raise UnsupportedMediaType(
            f"The request has the Content-Type {name[:100]!r}, but its body is read as JSON only; send it as "
            f"{' or '.join(PRODUCED)}"
        )
