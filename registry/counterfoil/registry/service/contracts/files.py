"""Reading contract files of requests: valid under their standard, and with every schema to which they refer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.contracts.stored import is_name
from counterfoil.registry.service.bridges.requests import schema_request_of
from counterfoil.schema.agreements.document import read_agreement, read_if_valid
from counterfoil.schema.agreements.model import Contract
from counterfoil.schema.agreements.stored import hash_of_file, ports_of
from counterfoil.schema.contexts import DEFAULT_CONTEXT, parse_subject
from counterfoil.schema.errors import Forbidden, InvalidContract, InvalidSchema
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.contracts import ContractKind, PublishedContract

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.registry.service.contracts.verdicts.sides import Sides
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.agreements.model import Agreement, Fault, SchemaLink
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.contracts import NewContract

_SHOWN: Final = 80

Permit: TypeAlias = "Callable[[Operation, QualifiedSubject], None]"
"""Raises unless the caller may do an operation to a subject."""


def permit_all(_: Operation, __: QualifiedSubject) -> None:
    """Do nothing: for callers who may do everything."""


@dataclass(frozen=True, slots=True)
class ReadContract:
    """A contract file that was read, with the subjects and contracts it is about."""

    contract: PublishedContract
    subjects: tuple[str, ...] = ()
    reads: Mapping[str, list[Any]] = field(default_factory=dict)
    """The input ports of a consumer as JSON, by the contract that they read."""


class ContractFiles:
    """Reads contract files."""

    def __init__(self, storage: Storage, *, reader: SchemaReader, sides: Sides) -> None:
        self._storage = storage
        self._reader = reader
        self._sides = sides

    async def read(self, given: NewContract, *, version: str, needs: Operation, permit: Permit) -> ReadContract:
        """Return a contract; ``version`` is that of the application, for a file without one.

        ``permit`` is called with ``needs`` for each subject of a producer's contract, and with READ for each that a
        given schema refers to, and for each that a consumer's contract reads: a verdict tells which fields it has.
        Raises ``InvalidContract``.
        """
        reading = await self._reader.of_text(given.text, read_if_valid)
        if reading is None:
            reading = await self._reader.beside(read_agreement, given.text)
        agreement = reading.agreement
        if agreement is None or reading.faults:
            raise _invalid(reading.faults)
        _check_names(agreement, version)
        if isinstance(agreement, Contract):
            return await self._producers(agreement, given, version, needs, permit)
        links = [each.reader_schema.url for each in agreement.expectations if each.reader_schema is not None]
        schemas = await self._given(given, dict.fromkeys(links, DEFAULT_CONTEXT), permit)
        if missing := next((link for link in links if link not in schemas), None):
            raise InvalidContract(f"The reader schema {missing!r} of {agreement.id!r} is not among the schemas")
        reads = await self._reader.of_text(given.text, ports_of)
        for contract in reads:
            await self._permit_reading(contract, permit)
        return await self._contract(agreement, given, version, schemas, reads=reads)

    async def _permit_reading(self, contract: str, permit: Permit) -> None:
        """Raise ``Forbidden`` without their names unless the caller may read the subjects that a contract is about."""
        try:
            for subject in await self._sides.subjects(contract):
                permit(Operation.READ, subject)
        except Forbidden:
            raise Forbidden(
                f"User is denied operation Read on a subject that contract {contract[:_SHOWN]!r} is about"
            ) from None

    async def _producers(
        self, contract: Contract, given: NewContract, version: str, needs: Operation, permit: Permit
    ) -> ReadContract:
        """Return a producer's contract; where a schema is not given, it is the latest version of the subject."""
        keys = [each.key.subject for each in contract.promises if each.key is not None and each.key.subject is not None]
        for subject in (*keys, *(each.subject for each in contract.promises)):
            permit(needs, parse_subject(subject))
        contexts = {subject: parse_subject(subject).context for subject in keys}
        for promise in contract.promises:
            context = parse_subject(promise.subject).context
            contexts[promise.subject] = context
            for link in (promise.schema, promise.key.schema if promise.key is not None else None):
                if link is not None:
                    contexts[link.url] = context
        schemas = await self._given(given, contexts, permit)
        for promise in contract.promises:
            if promise.subject not in schemas and (promise.schema is None or promise.schema.url not in schemas):
                schemas |= await self._registered(promise.subject, promise.schema)
        for subject in keys:
            if subject not in schemas:
                schemas |= await self._registered(subject, None, is_needed=False)
        subjects = tuple(dict.fromkeys(each.subject for each in contract.promises))
        return await self._contract(contract, given, version, schemas, subjects=subjects)

    async def _given(self, given: NewContract, contexts: dict[str, str], permit: Permit) -> dict[str, Schema]:
        """Return the given schemas to which the contract refers, by link or subject, as they are stored.

        ``contexts`` are those of their references. Raises ``InvalidContract``.
        """
        found: dict[str, Schema] = {}
        for name, context in contexts.items():
            if name not in given.schemas:
                continue
            for reference in given.schemas[name].references:
                permit(Operation.READ, parse_subject(reference.subject, context=context))
            try:
                reading = await self._reader.read(
                    context,
                    schema_request_of(given.schemas[name]),
                    validation=Validation.STRICT,
                    normalize=False,
                    deleted=False,
                )
            except InvalidSchema as mistake:
                raise InvalidContract(f"Schema {name!r}: {mistake.message}") from None
            content = reading.candidate.content
            found[name] = Schema(content.text, content.schema_type, content.references)
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

    async def _contract(
        self,
        agreement: Agreement,
        given: NewContract,
        version: str,
        schemas: dict[str, Schema],
        *,
        subjects: tuple[str, ...] = (),
        reads: Mapping[str, list[Any]] | None = None,
    ) -> ReadContract:
        kind = ContractKind.ODCS if isinstance(agreement, Contract) else ContractKind.ODPS
        found = await self._reader.of_text(given.text, hash_of_file, schemas)
        contract = PublishedContract(agreement.id, kind, agreement.version or version, found, given.text, schemas)
        return ReadContract(contract, subjects, reads or {})


def _check_names(agreement: Agreement, version: str) -> None:
    """Check what becomes part of a key."""
    if isinstance(agreement, Contract):
        others = [(each.subject, "a subject") for each in agreement.promises]
    else:
        others = [(each.contract_id, "the contractId of a port") for each in agreement.expectations]
    for name, what in ((agreement.id, "the id"), (agreement.version or version, "the version"), *others):
        if not is_name(name):
            raise InvalidContract(f"{what} is {name[:80]!r}; expected 1 to 300 characters without control characters")


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
