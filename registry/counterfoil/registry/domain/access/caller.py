"""The caller of a request: who it is, and what it may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.registry.domain.access.decision import principals_of
from counterfoil.registry.domain.access.rights import Rights
from counterfoil.registry.domain.access.rules import ANONYMOUS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.access.identity import Identity
    from counterfoil.registry.domain.access.rules import Rule


CALLER: Final = "counterfoil.caller"
"""The key in the scope of a request for its :class:`Caller`; absent where no authentication is set up."""


RENEWAL: Final = "counterfoil.renewal"
"""The key in the scope of a request whose response may last for hours: a function that examines its caller again."""

Renewal: TypeAlias = "Callable[[], Awaitable[Caller | None]]"
"""Returns the caller as it is now; None if its credentials are no longer right."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller with its rights. Without an identity it is a request without credentials to an open path."""

    identity: Identity | None
    rights: Rights
    rules: Sequence[Rule] = ()
    """All rules that the rights were made of."""

    @classmethod
    def of(cls, identity: Identity, rules: Sequence[Rule]) -> Caller:
        """Return the caller with the rights that ``rules`` give to it now."""
        return cls(identity, Rights(rules, principals_of(identity), identity.scopes), rules)

    @property
    def is_member(self) -> bool:
        """Whether the caller has proven who it is."""
        return self.identity is not None and self.identity.principal != ANONYMOUS

    @property
    def name(self) -> str:
        """The caller's principal, for logs."""
        return "-" if self.identity is None else self.identity.principal


NOBODY: Final = Caller(None, Rights((), ()))
"""The caller of a request to an open path without credentials."""
