"""Paths before routing: still percent-encoded, and with the context of ``/contexts/{ctx}/…`` moved into the names.

Routing uses the path as it was sent, so that a slash inside a name (``%2F``) stays inside it.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

from counterfoil.schema.errors import BadRequest

_CONTEXTS: Final = "contexts"
_ASSOCIATIONS: Final = "associations"
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_QUALIFIED: Final = (":.", ":*:")
_KEKS: Final = ["dek-registry", "v1", "keks"]
_DEKS_AT: Final = 4
_FIRST_PRINTABLE: Final = 0x20
_DELETE: Final = 0x7F


def decode_segment(segment: str) -> str:
    """Return the text of one path segment; raise ``BadRequest`` for invalid UTF-8 and control characters of ASCII."""
    raw = unquote_to_bytes(segment.encode("latin-1"))
    if any(byte < _FIRST_PRINTABLE or byte == _DELETE for byte in raw):
        raise BadRequest("The path contains a control character")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BadRequest("The path is not UTF-8") from None


def rewrite(path: str, query: str, method: str = "GET") -> tuple[str, str]:
    """Return ``path`` and ``query`` without a leading ``/contexts/{ctx}``: the names in them have the context instead.

    The names of associations are in the body, so that their context is put into the query.

    >>> rewrite("/contexts/c/subjects/foo/versions", "")
    ('/subjects/:.c:foo/versions', '')
    >>> rewrite("/contexts/c/schemas/ids/7", "")
    ('/schemas/ids/7', 'subject=%3A.c%3A')
    >>> rewrite("/contexts/c/associations", "", "POST")
    ('/associations', 'context=%3A.c%3A')
    """
    _, *segments = path.split("/")
    if segments[0] != _CONTEXTS or len(segments) == 1 or not segments[1]:
        return path, query
    prefix = f":{_context(segments[1])}:"
    rest = segments[2:]
    if not rest or rest == [""]:
        return f"/{_CONTEXTS}/{quote(prefix, safe=':')}", query
    if method in _WITH_BODY and rest[0].startswith(_ASSOCIATIONS):
        kept = [(key, value) for key, value in parse_qsl(query, keep_blank_values=True) if key != "context"]
        return "/" + "/".join(rest), urlencode([*kept, ("context", prefix)])
    return _rewrite_rest(rest, query, prefix)


def _context(segment: str) -> str:
    name = decode_segment(segment).removeprefix(":").removesuffix(":")
    if ":" in name:
        raise BadRequest(f"The context {name[:80]!r} is not valid: it contains a colon")
    return name if name.startswith(".") else f".{name}"


def _rewrite_rest(rest: list[str], query: str, prefix: str) -> tuple[str, str]:
    if rest[0] in {"config", "mode"}:
        rest[1:2] = [_prefixed(rest[1] if len(rest) > 1 else "", prefix)]
    elif rest[:2] == ["schemas", "ids"]:
        query = _prefixed_parameter(query, "subject", prefix)
    elif rest in (["schemas"], ["subjects"], ["changes"]):
        query = _prefixed_parameter(query, "subjectPrefix", prefix)
    else:
        at = _DEKS_AT if rest[: len(_KEKS)] == _KEKS else 0  # a key may have the name of a segment of the path
        at = next((index for index, part in enumerate(rest) if index >= at and part in {"subjects", "deks"}), len(rest))
        if at + 1 < len(rest):
            rest[at + 1] = _prefixed(rest[at + 1], prefix)
    return "/" + "/".join(rest), query


def _prefixed(segment: str, prefix: str) -> str:
    if decode_segment(segment).startswith(_QUALIFIED):
        return segment
    return quote(prefix, safe=":") + segment


def _prefixed_parameter(query: str, name: str, prefix: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    given = next((value for key, value in pairs if key == name), "")
    kept = [(key, value) for key, value in pairs if key != name]
    return urlencode([*kept, (name, given if given.startswith(":*:") else prefix + given)])
