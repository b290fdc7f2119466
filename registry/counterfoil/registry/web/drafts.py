"""Drafts in addresses, and the commands that do the same as a page."""

from __future__ import annotations

import binascii
import json
import shlex
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Final

from counterfoil.registry.web.endpoint import quoted
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.model import Reference

# A draft in an address: its form as JSON, in deflate and base64url.

MAX_PACKED: Final = 4096
"""The longest draft in an address; longer ones cannot be shared."""

_MAX_UNPACKED: Final = 256 * 1024
_RAW: Final = -15
DRAFT_ENTRIES: Final = ("subject", "schema", "schema_type", "references", "level", "policy")
"""The entries of the form."""


def pack_draft(form: Mapping[str, str]) -> str:
    """Return a draft as the value of ``draft`` in an address; an empty text if it is too large.

    >>> unpack_draft(pack_draft({"subject": "orders", "schema": "{}"}))
    {'subject': 'orders', 'schema': '{}'}
    """
    kept = {name: form[name] for name in DRAFT_ENTRIES if form.get(name)}
    text = json.dumps(kept, separators=(",", ":")).encode()
    if len(text) > _MAX_UNPACKED:
        return ""
    packer = zlib.compressobj(9, wbits=_RAW)
    packed = urlsafe_b64encode(packer.compress(text) + packer.flush()).rstrip(b"=")
    return packed.decode() if len(packed) <= MAX_PACKED else ""


def unpack_draft(packed: str) -> dict[str, str]:
    """Return the form of a draft in an address; raise ``BadRequest`` for a text that is none."""
    try:
        data = urlsafe_b64decode(packed[: MAX_PACKED + 1].encode() + b"=" * (-len(packed) % 4))
        text = zlib.decompressobj(_RAW).decompress(data, _MAX_UNPACKED)
        found = json.loads(text)
    except (binascii.Error, ValueError, zlib.error, RecursionError):
        raise BadRequest("draft is no draft of an address of this page") from None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise BadRequest("draft is no draft of an address of this page")
    return {name: found[name] for name in DRAFT_ENTRIES if name in found}


# The references of a draft: one name, subject and version a line.

_PARTS: Final = 3
_MAX_VERSION_DIGITS: Final = 9


def read_references(text: str) -> tuple[Reference, ...]:
    """Return the references in the entry of a form; raise ``BadRequest`` for a line that is none.

    >>> read_references("common.proto  common-value  3")
    (Reference(name='common.proto', subject='common-value', version=3),)
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        version = words[-1]
        is_number = version.isascii() and version.isdigit() and len(version) <= _MAX_VERSION_DIGITS
        if len(words) != _PARTS or not (is_number and int(version)):
            raise BadRequest(f"Line {number} is {line[:80]!r}; expected a name, a subject and the number of a version")
        found.append(Reference(words[0], words[1], int(version)))
    return tuple(found)


# Commands.


def curl_command(address: str, subject: str, *, schema: str, schema_type: str, references: Sequence[Reference]) -> str:
    """Return the command that registers a draft."""
    body: dict[str, object] = {"schema": schema, "schemaType": schema_type}
    if references:
        body["references"] = [
            {"name": each.name, "subject": each.subject, "version": each.version} for each in references
        ]
    media_type = "Content-Type: application/vnd.schemaregistry.v1+json"
    words = ["curl", "-X", "POST", "-H", media_type, "--data", json.dumps(body, ensure_ascii=False)]
    return shlex.join([*words, f"{address}/subjects/{quoted(subject)}/versions"])


def diff_command(address: str, earlier: str, later: str) -> str:
    """Return the command that compares two versions."""
    return shlex.join(["counterfoil", "diff", earlier, later, "--registry", address])
