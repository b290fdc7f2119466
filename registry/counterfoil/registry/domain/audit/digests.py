"""Digests of records: whether one was changed, and changed back, for those who may not know its content."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from counterfoil.registry.domain.audit.lines import canonical

if TYPE_CHECKING:
    from collections.abc import Collection

    from counterfoil.schema.rest.object_forms import Document


def digest_of_record(document: Document, *, key: bytes, without: Collection[str]) -> str:
    """Return the HMAC-SHA256 of a record by ``key`` (RFC 2104), in hexadecimal digits; ``without`` some members.

    A bare hash of a record with few possible contents would say which of them it is.
    """
    lasting = {name: value for name, value in document.items() if name not in without}
    return hmac.new(key, canonical(lasting), hashlib.sha256).hexdigest()
