"""Bridge files: documents of bridges on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.converter.errors import InvalidBridgeFile, why_unreadable
from counterfoil.schema.bridges.document import read_bridge
from counterfoil.schema.documents.nodes import InvalidDocument

if TYPE_CHECKING:
    from counterfoil.schema.bridges.model import BridgeFile


def load_bridge_file(path: Path | str) -> BridgeFile:
    """Return the bridge that the file at ``path`` declares; ``InvalidBridgeFile`` has line and column of a mistake."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidBridgeFile("there is no such file", path=str(path)) from None
    except (OSError, UnicodeDecodeError) as refusal:
        raise InvalidBridgeFile(f"the file cannot be read: {why_unreadable(refusal)}", path=str(path)) from None
    return parse_bridge_file(text, name=str(path))


def parse_bridge_file(text: str, *, name: str = "<bridge>") -> BridgeFile:
    """Return the bridge that a YAML ``text`` declares; ``name`` is the file's name in messages."""
    try:
        return read_bridge(text)
    except InvalidDocument as mistake:
        place = mistake.position
        line, column = (None, None) if place is None else (place.line, place.column)
        raise InvalidBridgeFile(mistake.problem, path=name, line=line, column=column) from None
