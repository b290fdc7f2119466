"""The project file and the file of approvals: how they are found, opened and saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from counterfoil.contracts.errors import InvalidProject, PreconditionFailed
from counterfoil.contracts.project.model import PROJECT_FILE_NAME, Project

if TYPE_CHECKING:
    from counterfoil.contracts.project.documents import ApprovalRecord


# Finding and reading the project file of a folder.

_Value = TypeVar("_Value")


class ProjectFile(NamedTuple):
    """A project, and the path of its file."""

    place: Path
    project: Project

    def below(self, root: str) -> Project:
        """Return the project with its paths relative to ``root``, a folder around that of its file.

        Raises ``PreconditionFailed`` where the file is outside of ``root``.
        """
        return self.project.within(self.folder_below(root))

    def folder_below(self, root: str) -> str:
        """Return the folder of the file relative to ``root``, empty for ``root`` itself; raise as :meth:`below`."""
        folder = self.place.resolve().parent
        if not folder.is_relative_to(root):
            raise PreconditionFailed(f"{self.place} is outside of {root}, whose files are checked")
        relative = folder.relative_to(root).as_posix()
        return "" if relative == "." else relative


def find_project(current: str, *, top: str | None = None) -> ProjectFile | None:
    """Return the project of the nearest ``counterfoil.yaml`` in the folder ``current`` or one around it.

    The search ends at ``top``, the top of a repository; without one, only ``current`` is searched. None where there is
    no such file. Raises ``InvalidProject``.
    """
    place = nearest_file(current, top=top)
    return None if place is None else open_project(place)


def nearest_file(current: str, *, top: str | None = None) -> Path | None:
    """Return the path of the file that :func:`find_project` reads; None where there is none."""
    here = Path(current).resolve()
    last = Path(top).resolve() if top else here
    for folder in (here, *here.parents):
        if (folder / PROJECT_FILE_NAME).is_file():
            return folder / PROJECT_FILE_NAME
        if folder == last:
            break
    return None


def open_project(place: Path) -> ProjectFile:
    """Return the project in a file; raise ``InvalidProject`` with the place of a mistake, or ``OSError``."""
    from counterfoil.contracts.project.documents import read_project  # PyYAML costs start time

    return ProjectFile(place, open_document(place, read_project, name=str(place)))


def open_document(place: Path, read: Callable[[str], _Value], *, name: str) -> _Value:
    """Return the result of ``read`` for the text of a file; raise ``InvalidProject`` with ``name``, or ``OSError``."""
    from counterfoil.schema.documents import InvalidDocument

    try:
        return read(place.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidProject(name, f"the file is not UTF-8 ({error.reason})") from None
    except InvalidDocument as mistake:
        raise InvalidProject(name, mistake.problem, position=mistake.position) from None


# Reading and writing the file of approvals at the top of a repository.

APPROVALS_FILE_NAME: Final = ".contract-approvals.yaml"


def load_approvals(root: str) -> tuple[ApprovalRecord, ...]:
    """Return the approvals of the repository at ``root``; none without a file. Raises ``InvalidProject``."""
    place = Path(root) / APPROVALS_FILE_NAME
    if not place.is_file():
        return ()
    from counterfoil.contracts.project.documents import read_approvals  # PyYAML costs start time

    return open_document(place, read_approvals, name=APPROVALS_FILE_NAME)


def save_approvals(root: str, records: Iterable[ApprovalRecord]) -> None:
    """Write the file; one that would be read while it is written is either the old one or the new one."""
    from counterfoil.contracts.project.documents import print_approvals

    place = Path(root) / APPROVALS_FILE_NAME
    beside = place.with_suffix(".new")
    beside.write_text(print_approvals(records), encoding="utf-8")
    beside.replace(place)
