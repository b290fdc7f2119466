"""Which subject names are valid."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import InvalidSubject

if TYPE_CHECKING:
    from counterfoil.schema.contexts import QualifiedSubject

_RESERVED_NAMES: Final = frozenset({"__GLOBAL", "__EMPTY"})


def check_subject(subject: QualifiedSubject) -> None:
    """Raise ``InvalidSubject`` unless versions may be registered under ``subject``."""
    if subject.is_global:
        raise InvalidSubject(f"Subject {str(subject)!r} is not valid: the global level holds config and mode only")
    check_name(subject)


def check_name(subject: QualifiedSubject) -> None:
    """Raise ``InvalidSubject`` unless config and mode may be stored for ``subject``."""
    if subject.name in _RESERVED_NAMES:
        raise InvalidSubject(f"Subject {subject.name!r} is not valid: the name is reserved")
    for text in (subject.context, subject.name):
        if any(unicodedata.category(character) == "Cc" for character in text):
            raise InvalidSubject(f"Subject {str(subject)!r} is not valid: it contains a control character")
