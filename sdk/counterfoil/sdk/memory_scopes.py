"""Config and mode of the in-memory registry: what is stored for a scope, and what applies to it.

A scope is a subject, a context, the registry's own level (the default context) or the level above all contexts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar
from unicodedata import category

from counterfoil.schema.contexts import GLOBAL_LEVEL, QualifiedSubject
from counterfoil.schema.errors import (
    ConfigNotFound,
    InvalidSubject,
    ModeNotFound,
    OperationNotPermitted,
    SubjectNotFound,
)
from counterfoil.sdk.entities import Config, Mode

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.levels import CompatibilityLevel

T = TypeVar("T")

_NO_WRITES: Final = frozenset({Mode.READONLY, Mode.READONLY_OVERRIDE})


class Scopes:
    """The configs and modes of one registry, whose own level is ``level`` while nothing else is set."""

    def __init__(self, level: CompatibilityLevel) -> None:
        self._default_level = level
        self._configs: dict[QualifiedSubject, Config] = {}
        self._modes: dict[QualifiedSubject, Mode] = {}

    def level(self, scope: QualifiedSubject) -> CompatibilityLevel:
        """The compatibility level that applies to the scope."""
        return self.effective_config(scope).compatibility_level or self._default_level

    def forget(self, scope: QualifiedSubject) -> None:
        """Drop what is stored for a subject that is gone."""
        self._configs.pop(scope, None)
        self._modes.pop(scope, None)

    def config(self, scope: QualifiedSubject) -> Config:
        """What is stored for the scope, its level filled in; raises ``ConfigNotFound``."""
        found = self._configs.get(scope)
        if found is None and not _is_always_there(scope):
            raise ConfigNotFound(f"No config is set for {str(scope)!r}")
        return self._with_level(found or Config())

    def effective_config(self, scope: QualifiedSubject) -> Config:
        """What applies to the scope: the narrowest config that is stored, taken whole."""
        return self._with_level(_narrowest(self._configs, scope) or Config())

    def set_config(self, scope: QualifiedSubject, change: Config, clear: frozenset[str]) -> Config:
        """What is stored now: the set fields of ``change`` over what was stored, without those in ``clear``."""
        check_name(scope)
        self.check_writable(scope, deletes=True)
        old = self._configs.get(scope, Config())
        given = {name: value for name in Config.__slots__ if (value := getattr(change, name)) is not None}
        new = self._configs[scope] = replace(old, **given, **dict.fromkeys(clear))
        return new

    def delete_config(self, scope: QualifiedSubject) -> Config:
        """What was stored."""
        if scope not in self._configs and not _is_always_there(scope):
            raise SubjectNotFound(f"No config is set for {str(scope)!r}")
        self.check_writable(scope, deletes=True)
        return self._with_level(self._configs.pop(scope, Config()))

    def _with_level(self, config: Config) -> Config:
        return replace(config, compatibility_level=config.compatibility_level or self._default_level)

    def mode(self, scope: QualifiedSubject) -> Mode:
        """The mode that is stored for the scope; raises ``ModeNotFound``."""
        found = self._modes.get(scope)
        if found is None and not _is_always_there(scope):
            raise ModeNotFound(f"No mode is set for {str(scope)!r}")
        return found or Mode.READWRITE

    def effective_mode(self, scope: QualifiedSubject) -> Mode:
        """The mode that applies to the scope: the narrowest that is stored."""
        return _narrowest(self._modes, scope) or Mode.READWRITE

    def set_mode(self, scope: QualifiedSubject, mode: Mode | None, *, holds_versions: bool) -> None:
        """Store the mode, or unset it for None; IMPORT is not for a scope that ``holds_versions``."""
        check_name(scope)
        if mode is None:
            self._modes.pop(scope, None)
            return
        if mode is Mode.IMPORT and self.effective_mode(scope) is not mode and holds_versions:
            raise OperationNotPermitted(f"{str(scope)!r} has versions; IMPORT needs it to be empty, or force=true")
        self._modes[scope] = mode

    def delete_mode(self, scope: QualifiedSubject, *, recursive: bool) -> Mode | None:
        """The mode that was stored; with ``recursive`` those of the subjects in a context go as well."""
        found = self._modes.pop(scope, None)
        if recursive and scope.is_context:
            self._modes = {held: mode for held, mode in self._modes.items() if held.context != scope.context}
        elif found is None and not _is_always_there(scope):
            raise SubjectNotFound(f"No mode is set for {str(scope)!r}")
        return found or (Mode.READWRITE if _is_always_there(scope) else None)

    def check_writable(self, scope: QualifiedSubject, *, deletes: bool = False) -> None:
        """Raise ``OperationNotPermitted`` where the mode forbids it; only registrations need READWRITE."""
        mode = self.effective_mode(scope)
        if mode in _NO_WRITES or not (deletes or mode is Mode.READWRITE):
            raise OperationNotPermitted(f"Subject {str(scope)!r} is in {mode} mode")


def _narrowest(stored: dict[QualifiedSubject, T], scope: QualifiedSubject) -> T | None:
    for level in (scope, QualifiedSubject(scope.context, ""), GLOBAL_LEVEL):
        if level in stored:
            return stored[level]
    return None


def _is_always_there(scope: QualifiedSubject) -> bool:
    """Whether this is the registry's own level, which has a config and a mode from the start."""
    return scope.is_global or (scope.is_context and scope.is_default)


def check_name(subject: QualifiedSubject) -> None:
    """Raise ``InvalidSubject`` for a name that no subject may have."""
    is_reserved = subject.name in ("__GLOBAL", "__EMPTY") or (subject.is_global and not subject.is_context)
    if is_reserved or any(category(char) == "Cc" for char in subject.name):
        raise InvalidSubject(f"{str(subject)!r} is not a valid subject name; expected one without control characters")
