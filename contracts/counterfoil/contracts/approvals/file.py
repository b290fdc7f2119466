"""Reading and writing the file of approvals at the top of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.contracts.approvals.document import FILE_NAME, print_approvals, read_approvals
from counterfoil.contracts.errors import InvalidProject
from counterfoil.schema.documents.nodes import InvalidDocument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.contracts.approvals.document import ApprovalRecord


def load_approvals(root: str) -> tuple[ApprovalRecord, ...]:
    """Return the approvals of the repository at ``root``; none without a file. Raises ``InvalidProject``."""
    try:
        return read_approvals((Path(root) / FILE_NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except UnicodeDecodeError as error:
        raise InvalidProject(FILE_NAME, f"the file is not UTF-8 ({error.reason})") from None
    except InvalidDocument as mistake:
        raise InvalidProject(FILE_NAME, mistake.problem, position=mistake.position) from None


def save_approvals(root: str, records: Iterable[ApprovalRecord]) -> None:
    """Write the file; one that would be read while it is written is either the old one or the new one."""
    place = Path(root) / FILE_NAME
    beside = place.with_suffix(".new")
    beside.write_text(print_approvals(records), encoding="utf-8")
    beside.replace(place)
