"""The key of a store by which the audit compares records whose content it may not have."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.records import AUDIT_KEY_KEY, AUDIT_KEYS, AuditKey
from counterfoil.registry.domain.writes.plan import Plan

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Storage

_KEY_BYTES: Final = 32


async def audit_key(storage: Storage) -> tuple[bytes, Plan]:
    """Return the key of ``storage``, and the plan that stores it; it belongs to the write that uses the key first.

    The plan does nothing where the key is stored already.
    """
    held = await storage.records(AUDIT_KEYS.name, AUDIT_KEY_KEY)
    if held:
        return bytes.fromhex(AUDIT_KEYS.read(held[0].document).key), Plan((), ())
    made = token_hex(_KEY_BYTES)
    return bytes.fromhex(made), AUDIT_KEYS.write(AuditKey(made), revision=0)
