"""Names and pointer of a declared type, which messages and enums share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.schema.formats.protobuf.read.ast import Enum, Message
    from counterfoil.schema.pointer import Pointer


class DeclaredType:
    """A message or an enum; ``local_name`` is its full name without the package."""

    node: Message | Enum
    local_name: str

    @property
    def names(self) -> tuple[str, ...]:
        """The parts of its local name: outer messages first, its own name last."""
        return tuple(self.local_name.split("."))

    @property
    def pointer(self) -> Pointer:
        """Its pointer in the file that declares it."""
        return self.node.pointer or self.names
