"""Entity tags, and conditional requests (RFC 9110, 8.8.3 and 13.1.2)."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import blake2b
from typing import Final

from starlette.responses import Response

from counterfoil.registry.api.dialects import VARY

_DIGEST_BYTES: Final = 12

IF_NONE_MATCH: Final = b"if-none-match"
NOT_MODIFIED: Final = 304


def entity_tag(body: bytes) -> bytes:
    """Return the entity tag of a response with this body.

    It is a weak one, since the response is the same with and without compression.
    """
    return b'W/"%b"' % urlsafe_b64encode(blake2b(body, digest_size=_DIGEST_BYTES).digest())


def is_matched(tag: bytes, if_none_match: bytes) -> bool:
    """Return whether ``If-None-Match`` includes this entity tag.

    >>> is_matched(b'W/"b"', b'"a", "b"'), is_matched(b'W/"b"', b'"c"'), is_matched(b'W/"b"', b"*")
    (True, False, True)
    """
    opaque = tag.removeprefix(b"W/")
    wanted = [each.strip().removeprefix(b"W/") for each in if_none_match.split(b",")]
    return opaque in wanted or wanted == [b"*"]


def tagged(response: Response, tag: bytes, headers: list[tuple[bytes, bytes]]) -> Response:
    """Return ``response`` with its entity tag, or status 304 if the request's ``headers`` include the tag."""
    known = b",".join([value for name, value in headers if name == IF_NONE_MATCH])
    if known and is_matched(tag, known):
        response = Response(status_code=NOT_MODIFIED)
    response.headers["etag"] = tag.decode()
    response.headers["vary"] = VARY.decode()
    return response
