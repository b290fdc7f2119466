"""The users of an htpasswd file."""

from __future__ import annotations

from counterfoil.registry.auth.imports.text import ImportedAccess
from counterfoil.registry.auth.passwords.htpasswd import read_htpasswd


def import_htpasswd(data: bytes, *, path: str) -> ImportedAccess:
    """Return the users of a file; raise ``InvalidAccessFile`` for hashes of kinds that are refused."""
    lines = read_htpasswd(data, path=path)
    notes = [f"left out: {line.name} is disabled" for line in lines if line.is_disabled]
    notes += [f"weak hash: {line.name}: {line.stored.weakness}" for line in lines if line.stored.weakness]
    return ImportedAccess({line.name: line.text for line in lines if not line.is_disabled}, [], notes)
