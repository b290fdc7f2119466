"""Reading contract files of requests: valid under their standard, and with every schema to which they refer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.domain.contracts.stored import is_name
from counterfoil.registry.service.bridges.requests import schema_request_of
from counterfoil.schema.agreements.document import read_agreement
from counterfoil.schema.agreements.identity import content_hash
from counterfoil.schema.agreements.model import Contract
from counterfoil.schema.contexts import DEFAULT_CONTEXT, parse_subject
from counterfoil.schema.errors import InvalidContract, InvalidSchema
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.contracts import ContractKind, PublishedContract

if TYPE_CHECKING:
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.agreements.model import Agreement, Fault, SchemaLink
    from counterfoil.schema.rest.contracts import NewContract


@dataclass(frozen=True, slots=True)
class ReadContract:
    """A contract file that was read, with the subjects and contracts it is about."""

    contract: PublishedContract
    subjects: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


class ContractFiles:
    """Reads contract files."""

    def __init__(self, storage: Storage, *, reader: SchemaReader) -> None:
        self._storage = storage
        self._reader = reader

    async def read(self, given: NewContract, *, version: str) -> ReadContract:
        """Return a contract; ``version`` is that of the application, for a file without one.

        Raises ``InvalidContract``.
        """
        reading = await asyncio.to_thread(read_agreement, given.text)
        agreement = reading.agreement
        if agreement is None or reading.faults:
            raise _invalid(reading.faults)
        _check_names(agreement, version)
        if isinstance(agreement, Contract):
            wanted = [(promise.schema, parse_subject(promise.subject).context) for promise in agreement.promises]
            subjects = {promise.subject: promise.schema for promise in agreement.promises}
            keys = {promise.key.subject for promise in agreement.promises if promise.key and promise.key.subject}
            schemas = await self._schemas(given, wanted)
            for subject, link in subjects.items():
                if link is None or link.url not in schemas:
                    schemas |= await self._registered(subject, link)
            for subject in keys:
                schemas |= await self._registered(subject, None, is_needed=False)
            return _contract_of(agreement, given, version, schemas, subjects=tuple(subjects))
        wanted = [(each.reader_schema, DEFAULT_CONTEXT) for each in agreement.expectations]
        schemas = await self._schemas(given, wanted)
        for link, _ in wanted:
            if link is not None and link.url not in schemas:
                raise InvalidContract(f"The reader schema {link.url!r} of {agreement.id!r} is not among the schemas")
        reads = tuple(dict.fromkeys(each.contract_id for each in agreement.expectations))
        return _contract_of(agreement, given, version, schemas, reads=reads)

    async def _schemas(self, given: NewContract, wanted: list[tuple[SchemaLink | None, str]]) -> dict[str, Schema]:
        """Return the given schemas to which the contract refers, as they are stored; raise ``InvalidContract``."""
        found: dict[str, Schema] = {}
        for link, context in wanted:
            if link is None or link.url not in given.schemas:
                continue
            try:
                reading = await self._reader.read(
                    context,
                    schema_request_of(given.schemas[link.url]),
                    validation=Validation.STRICT,
                    normalize=False,
                    deleted=False,
                )
            except InvalidSchema as mistake:
                raise InvalidContract(f"Schema {link.url!r}: {mistake.message}") from None
            content = reading.candidate.content
            found[link.url] = Schema(content.text, content.schema_type, content.references)
        return found

    async def _registered(self, subject: str, link: SchemaLink | None, *, is_needed: bool = True) -> dict[str, Schema]:
        """Return the latest schema of a subject, by its name."""
        latest = (await self._storage.history(parse_subject(subject))).latest
        if latest is None:
            if not is_needed:
                return {}
            given = "" if link is None else f"the schema {link.url!r} is not among the schemas, and "
            raise InvalidContract(
                f"{given or 'the contract refers to no schema, and '}subject {subject!r} has no version; "
                "give the schema, or register it first"
            )
        content = await self._reader.content(latest.guid)
        return {subject: Schema(content.text, content.schema_type, content.references)}


def _check_names(agreement: Agreement, version: str) -> None:
    """Check what becomes part of a key."""
    if isinstance(agreement, Contract):
        others = [(each.subject, "a subject") for each in agreement.promises]
    else:
        others = [(each.contract_id, "the contractId of a port") for each in agreement.expectations]
    for name, what in ((agreement.id, "the id"), (agreement.version or version, "the version"), *others):
        if not is_name(name):
            raise InvalidContract(f"{what} is {name[:80]!r}; expected 1 to 200 characters without control characters")


def _contract_of(
    agreement: Agreement,
    given: NewContract,
    version: str,
    schemas: dict[str, Schema],
    *,
    subjects: tuple[str, ...] = (),
    reads: tuple[str, ...] = (),
) -> ReadContract:
    kind = ContractKind.ODCS if isinstance(agreement, Contract) else ContractKind.ODPS
    prints = {link: f"{each.schema_type}:{each.text}:{each.references}" for link, each in schemas.items()}
    found = content_hash(agreement, fingerprints=prints)
    contract = PublishedContract(agreement.id, kind, agreement.version or version, found, given.text, schemas)
    return ReadContract(contract, subjects, reads)


def _invalid(faults: tuple[Fault, ...]) -> InvalidContract:
    """Return the error for a file with mistakes."""
    first = faults[0]
    where = f"{first.position}: " if first.position else ""
    more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
    details = [
        {
            "rule": each.rule,
            "text": each.problem,
            **({"line": each.position.line, "column": each.position.column} if each.position else {}),
        }
        for each in faults
    ]
    return InvalidContract(f"The contract is not valid: {where}{first.problem}{more}", details={"faults": details})
