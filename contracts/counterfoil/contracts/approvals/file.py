"""Reading and writing the file of approvals at the top of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.project.finding import open_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.contracts.approvals.document import ApprovalRecord

FILE_NAME: Final = ".contract-approvals.yaml"


def load_approvals(root: str) -> tuple[ApprovalRecord, ...]:
    """Return the approvals of the repository at ``root``; none without a file. Raises ``InvalidProject``."""
    place = Path(root) / FILE_NAME
    if not place.is_file():
        return ()
    from counterfoil.contracts.approvals.document import read_approvals  # PyYAML costs start time

    return open_document(place, read_approvals, name=FILE_NAME)


def save_approvals(root: str, records: Iterable[ApprovalRecord]) -> None:
    """Write the file; one that would be read while it is written is either the old one or the new one."""
    from counterfoil.contracts.approvals.document import print_approvals

    place = Path(root) / FILE_NAME
    beside = place.with_suffix(".new")
    beside.write_text(print_approvals(records), encoding="utf-8")
    beside.replace(place)
