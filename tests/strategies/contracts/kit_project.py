"""A folder with a contract, a consumer and their schema, for tests of the test kit and of generated files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.contracts.agreement_files import APPLICATION, BRIDGE, CONTRACT, SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "orders.odcs.yaml": CONTRACT,
    "schemas/order.avsc": SCHEMA,
    "billing.odps.yaml": APPLICATION,
    "converters/orders.yaml": BRIDGE,
}


def write_project(folder: Path, **changes: str) -> Path:
    """Write the files below a folder, with others in their places or besides; return the folder."""
    for name, text in {**FILES, **changes}.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return folder
