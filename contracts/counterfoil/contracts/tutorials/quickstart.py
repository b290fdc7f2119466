"""The start of the quick start of the check: an order in a git repository, and a change of it that breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.contracts.tutorials.laying import commit_files, empty_folder, write_files

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = "schemas/order.avsc"
_ORDER: Final = """{
  "type": "record",
  "name": "Order",
  "namespace": "shop",
  "fields": [
    {"name": "id", "type": "string"},
    {"name": "total", "type": "double"}%s
  ]
}
"""
COMMITTED: Final = _ORDER % ""
CHANGED: Final = _ORDER % ',\n    {"name": "currency", "type": "string"}'


def lay_quickstart(folder: Path) -> str:
    """Make the repository in ``folder``, and return what was made as a sentence."""
    with empty_folder(folder, needs_git=True):
        write_files(folder, {SCHEMA: COMMITTED})
        commit_files(folder, "the first schema")
        write_files(folder, {SCHEMA: CHANGED})
    return f"{folder} is a git repository with a schema, and a change of it that is not committed"
