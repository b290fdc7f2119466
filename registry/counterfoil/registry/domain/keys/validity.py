"""Which names, fields and subjects of encryption keys are valid.

Source: Confluent's documentation of client-side field level encryption, and the public API of its DEK registry.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.versions import MAX_VERSION
from counterfoil.schema.errors import InvalidKey

if TYPE_CHECKING:
    from counterfoil.schema.contexts import QualifiedSubject

FIRST_VERSION: Final = 1

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,255}")
_CANONICAL_TYPES: Final = {"aws": "aws-kms", "azure": "azure-kms", "gcp": "gcp-kms"}
_ID_BEGINNINGS: Final = {
    "aws-kms": ("arn:aws:kms:",),
    "azure-kms": ("https://",),
    "gcp-kms": ("projects/",),
    "hcvault": ("http://", "https://"),
}


def check_kek_name(name: str) -> None:
    """Return when ``name`` may be that of a key encryption key; else ``InvalidKey``."""
    if not _NAME.fullmatch(name):
        raise InvalidKey(
            f"Key name {name[:80]!r} is not valid; expected a letter or '_', then letters, digits, '_' or '-', "
            "at most 256 of them"
        )


def check_kms(kms_type: str | None, kms_key_id: str | None) -> tuple[str, str]:
    """The type, in its canonical spelling, and the id of a key in a key management service; else ``InvalidKey``."""
    if not kms_type:
        raise InvalidKey("kmsType is missing; expected a type such as aws-kms, azure-kms, gcp-kms, hcvault, local-kms")
    if not kms_key_id:
        raise InvalidKey("kmsKeyId is missing; expected the id of the key in the key management service")
    beginnings = _ID_BEGINNINGS.get(kms_type, ())
    if beginnings and not kms_key_id.startswith(beginnings):
        raise InvalidKey(
            f"kmsKeyId {kms_key_id[:200]!r} is not valid for kmsType {kms_type}; "
            f"expected it to begin with {' or '.join(beginnings)}"
        )
    spelt = kms_type.lower()
    return next((full for word, full in _CANONICAL_TYPES.items() if spelt.startswith(word)), kms_type), kms_key_id


def check_key_subject(subject: QualifiedSubject) -> None:
    """Return when keys may be kept for ``subject``; else ``InvalidKey``."""
    if not subject.name:
        raise InvalidKey(f"Subject {str(subject)!r} is not valid for a key: it has no name")
    if any(unicodedata.category(character) == "Cc" for character in f"{subject.context}{subject.name}"):
        raise InvalidKey(f"Subject {str(subject)!r} is not valid for a key: it contains a control character")


def check_key_version(version: int) -> None:
    """Return when ``version`` may be that of a data encryption key; else ``InvalidKey``."""
    if not FIRST_VERSION <= version <= MAX_VERSION:
        raise InvalidKey(f"version {version} is not valid for a key; expected a number from 1 to {MAX_VERSION}")
