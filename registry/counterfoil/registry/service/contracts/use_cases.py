"""All use cases of contracts over one storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.service.contracts.checking import Checking
from counterfoil.registry.service.contracts.environments import Environments
from counterfoil.registry.service.contracts.files import ContractFiles
from counterfoil.registry.service.contracts.library import Library
from counterfoil.registry.service.contracts.publishing import Publishing
from counterfoil.registry.service.contracts.records import ContractRecords
from counterfoil.registry.service.contracts.sides import Sides
from counterfoil.registry.service.contracts.verdicts import Verdicts

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.service.compatibility import CompatibilityCheck
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage


@dataclass(frozen=True, slots=True)
class Contracts:
    """The use cases of contracts."""

    publishing: Publishing
    library: Library
    environments: Environments
    verdicts: Verdicts
    checking: Checking


def contract_use_cases(
    storage: Storage, *, scopes: Scopes, reader: SchemaReader, check: CompatibilityCheck, now_ms: Callable[[], int]
) -> Contracts:
    """Return the use cases of contracts over ``storage``."""
    records = ContractRecords(storage)
    files = ContractFiles(storage, reader=reader)
    sides = Sides(records, reader=reader)
    verdicts = Verdicts(records=records, sides=sides)
    return Contracts(
        publishing=Publishing(storage, records=records, scopes=scopes, files=files, now_ms=now_ms),
        library=Library(records),
        environments=Environments(storage, records=records, scopes=scopes, now_ms=now_ms),
        verdicts=verdicts,
        checking=Checking(
            storage,
            records=records,
            scopes=scopes,
            reader=reader,
            check=check,
            files=files,
            sides=sides,
            verdicts=verdicts,
        ),
    )
