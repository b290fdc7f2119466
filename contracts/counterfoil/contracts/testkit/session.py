"""The settings of a run of tests: the folder of its contracts, and the recorder of reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from counterfoil.contracts.generate.library import ContractLibrary
    from counterfoil.contracts.testkit.reads import ReadRecorder


CONSUMER_INI: Final = "counterfoil_consumer"
"""The option of pytest that names the product file whose reads are compared."""


@dataclass(slots=True)
class ContractSession:
    """``root`` is the folder of the contracts, by default the current one; without a ``recorder`` nothing is noted."""

    root: str = "."
    recorder: ReadRecorder | None = None
    _library: ContractLibrary | None = None

    def library(self) -> ContractLibrary:
        """Return the contracts, which are read once."""
        if self._library is None:
            from counterfoil.contracts.generate.library import ContractLibrary

            self._library = ContractLibrary(self.root)
        return self._library

    def begin(self, root: str) -> None:
        """Begin a run of tests in a folder."""
        self.root, self.recorder, self._library = root, None, None


SESSION = ContractSession()
"""The run of tests of this process; pytest's plugin begins it."""
