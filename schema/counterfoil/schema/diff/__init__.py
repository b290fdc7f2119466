"""What changed between two schemas, in words and without judgement."""

from counterfoil.schema.diff.find import find_changes
from counterfoil.schema.diff.model import Change, ChangeKind

__all__ = ["Change", "ChangeKind", "find_changes"]
