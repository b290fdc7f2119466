"""A consumer's product file (ODPS), whose reads are compared with those of tests and completed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from counterfoil.contracts.errors import InvalidOperand, PreconditionFailed
from counterfoil.contracts.generating.documents import ConsumerFacts, consumer_text
from counterfoil.contracts.generating.product_reads import Uneditable, with_reads
from counterfoil.contracts.testkit.reads import undeclared
from counterfoil.schema.agreements.document import read_agreement
from counterfoil.schema.agreements.model import Application, major_of
from counterfoil.schema.paths import print_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from counterfoil.contracts.library import ContractLibrary

_SUFFIXES = (".odps.yaml", ".odps.yml", ".yaml", ".yml")


class ProductFile:
    """A product file: its text, and what it declares. The text of a file that does not exist yet is empty."""

    def __init__(self, place: Path, text: str) -> None:
        self._place = place
        self._text = text
        self.has_changed = False
        self._reads = _declared(place, text) if text else {}

    @classmethod
    def read(cls, place: Path) -> Self:
        """Return the file at a place; raise ``InvalidOperand`` for one that is no valid product file."""
        try:
            return cls(place, place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise PreconditionFailed(f"there is no file {place}") from None
        except UnicodeDecodeError as error:
            raise InvalidOperand(str(place), f"it is not UTF-8 ({error.reason})", what="product file") from None

    @classmethod
    def empty(cls, place: Path) -> Self:
        """Return a file that does not exist yet."""
        return cls(place, "")

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._place.name

    @property
    def contracts(self) -> Sequence[str]:
        """The ids of the contracts that are read."""
        return sorted(self._reads)

    def reads(self, contract: str) -> Sequence[str] | None:
        """Return the declared paths of a contract; None without an input port for it."""
        return self._reads.get(contract)

    def add(self, contract: str, version: str, paths: Sequence[str]) -> list[str]:
        """Add the paths that are not declared yet, and return them. Raises ``PreconditionFailed``."""
        missing = undeclared(paths, self._reads.get(contract, ()))
        if not missing:
            return []
        major = major_of(version)
        try:
            if self._text:
                text = with_reads(self._text, contract, major, missing)
            else:
                text = consumer_text(ConsumerFacts(self._stem, contract, major), missing)
            declared = _declared(self._place, text)
        except (Uneditable, InvalidOperand) as problem:
            raise PreconditionFailed(
                f"{self._place} cannot be completed ({problem}); add to the reads of {contract}: {', '.join(missing)}"
            ) from None
        self._text, self._reads, self.has_changed = text, declared, True
        return missing

    def write(self) -> None:
        """Write the file; one that is read meanwhile is either the old one or the new one."""
        beside = self._place.with_name(f"{self._place.name}.new")
        beside.write_text(self._text, encoding="utf-8")
        beside.replace(self._place)

    @property
    def _stem(self) -> str:
        return next((self.name.removesuffix(each) for each in _SUFFIXES if self.name.endswith(each)), self.name)


def product_of_project(library: ContractLibrary) -> ProductFile:
    """Return the only product file that belongs to a folder; raise ``PreconditionFailed`` for none or several."""
    found = library.product_files()
    if len(found) == 1:
        return ProductFile.read(found[0])
    names = ", ".join(place.name for place in found) or "none"
    raise PreconditionFailed(
        f"the product file (.odps.yaml) to compare with is not clear: {names}; name it with counterfoil_consumer in "
        "pytest's section"
    )


def _declared(place: Path, text: str) -> dict[str, list[str]]:
    reading = read_agreement(text)
    if not isinstance(reading.agreement, Application) or reading.faults:
        fault = reading.faults[0] if reading.faults else None
        problem = "it is a contract file" if fault is None else fault.problem
        raise InvalidOperand(
            str(place), problem, position=None if fault is None else fault.position, what="product file"
        )
    declared: dict[str, list[str]] = {}
    for each in reading.agreement.expectations:
        paths = ["*"] if each.reads is None else [print_path(read.path) for read in each.reads]
        declared.setdefault(each.contract_id, []).extend(paths)
    return declared
