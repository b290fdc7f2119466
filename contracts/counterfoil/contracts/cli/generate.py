"""``counterfoil generate``: contract and product files from schemas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from counterfoil.contracts.cli.generated_files import docs, fixtures, out_options, put_text, strategy, vectors
from counterfoil.contracts.cli.options import chain
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.schema.agreements.model import Contract
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.sdk.registry_options import RegistryAccess

_CONTRACT_ENDS: Final = (".odcs.yaml", ".odcs.yml")

_file_options = chain(
    click.option("--version", default="1.0.0", show_default=True, help="The version in the file."),
    click.option("--owner", metavar="TEAM", help="The team that owns it."),
    out_options,
)


@click.group()
def generate() -> None:
    """Write contract and product files from schemas; examples, vectors, strategies and pages from contracts."""


for _each in (fixtures, vectors, strategy, docs):
    generate.add_command(_each)


@generate.command()
@click.argument("schema")
@registry_options(THE_REGISTRY)
@click.option("--id", "contract_id", metavar="ID", help="The id of the contract. Default: the topic.")
@click.option("--topic", help="The topic. Default: the subject, or the file's name, without -value.")
@click.option("--subject", help="The subject. Default: the topic with -value.")
@click.option("--fields", is_flag=True, help="List the fields although a schema file has them.")
@_file_options
def contract(
    schema: str,
    registry: RegistryAccess,
    contract_id: str | None,
    topic: str | None,
    subject: str | None,
    fields: bool,
    version: str,
    owner: str | None,
    out: str | None,
    check: bool,
) -> ExitCode:
    """Write a contract file (ODCS) for SCHEMA.

    SCHEMA is a file, REF:PATH in git, or SUBJECT@VERSION (also SUBJECT@latest) in a registry. The contract of a file
    refers to it, so that no field is written twice; that of another schema lists the fields.

    Exit codes: 0 written or printed, 1 the file differs (--check), 2 usage, 11 registry unreachable, 12 registry
    refused, 14 no such file, ref or version, or no valid schema in it.
    """
    from counterfoil.contracts.generating.documents import ContractFacts, contract_text

    source = _source(schema, registry)
    name = topic or source.subject.removesuffix("-value")
    facts = ContractFacts(
        id=contract_id or name,
        topic=name,
        subject=subject or f"{name}-value",
        version=version,
        owner=owner,
        schema_path=_relative(source.path, out),
    )
    return put_text(contract_text(source.schema, facts, has_fields=fields), out, is_checked=check)


@generate.command()
@click.argument("contract")
@registry_options(THE_REGISTRY)
@click.option("--id", "consumer_id", metavar="ID", required=True, help="The id of the consumer.")
@click.option("--reads", metavar="PATH", multiple=True, help="A path that it reads. Repeatable. Default: all fields.")
@_file_options
def consumer(
    contract: str,
    registry: RegistryAccess,
    consumer_id: str,
    reads: tuple[str, ...],
    version: str,
    owner: str | None,
    out: str | None,
    check: bool,
) -> ExitCode:
    """Write a product file (ODPS) for a consumer of CONTRACT.

    CONTRACT is a contract file (.odcs.yaml), or a schema as `generate contract` takes it. The paths that are read must
    be in the schema.

    Exit codes: 0 written or printed, 1 the file differs (--check), 2 usage, 11 registry unreachable, 12 registry
    refused, 14 no such file, ref or version, or no valid contract or schema in it.
    """
    from counterfoil.contracts.generating.documents import ConsumerFacts, all_reads, consumer_text
    from counterfoil.schema.agreements.model import major_of

    if contract.endswith(_CONTRACT_ENDS):
        read = _contract(contract)
        schema = _schema_of(read, contract, registry)
        contract_id, major = read.id, major_of(read.version)
    else:
        source = _source(contract, registry)
        schema, contract_id, major = source.schema, source.subject.removesuffix("-value"), "1"
    if schema is not None:
        _check_reads(reads, schema)
    facts = ConsumerFacts(consumer_id, contract_id, major, version, owner)
    return put_text(consumer_text(facts, reads or all_reads(schema)), out, is_checked=check)


class _Source(NamedTuple):
    schema: ParsedSchema
    subject: str
    path: str | None


def _source(operand: str, registry: RegistryAccess) -> _Source:
    """Return the schema of an operand, the subject or the file's name, and its path if it is a file here."""
    from counterfoil.contracts.baselines.operands import SUBJECT_VERSION, find_operand
    from counterfoil.contracts.errors import InvalidOperand
    from counterfoil.contracts.languages import stem_of

    found = find_operand(operand, ".", registry=registry.open if registry.url else None).read
    if found.schema is None:
        raise InvalidOperand(operand, "it has no schema")
    if Path(operand).is_file():
        return _Source(found.schema, stem_of(operand), operand)
    named = SUBJECT_VERSION.fullmatch(operand)
    return _Source(found.schema, named["subject"] if named else stem_of(operand.partition(":")[2]), None)


def _contract(place: str) -> Contract:
    from counterfoil.contracts.errors import InvalidOperand
    from counterfoil.schema.agreements.document import read_agreement
    from counterfoil.schema.agreements.model import Contract

    try:
        reading = read_agreement(Path(place).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidOperand(place, f"it is not UTF-8 ({error.reason})", what="contract") from None
    if not isinstance(reading.agreement, Contract):
        fault = reading.faults[0] if reading.faults else None
        problem = fault.problem if fault else "it is a product file"
        raise InvalidOperand(place, problem, position=fault.position if fault else None, what="contract")
    return reading.agreement


def _schema_of(contract: Contract, place: str, registry: RegistryAccess) -> ParsedSchema | None:
    """Return the schema of the contract's first promise; None without a link to a file."""
    link = next((each.schema for each in contract.promises if each.schema is not None), None)
    if link is None or not link.is_file:
        return None
    return _source(str(Path(place).parent / link.url), registry).schema


def _check_reads(reads: tuple[str, ...], schema: ParsedSchema) -> None:
    from counterfoil.contracts.errors import UsageMistake
    from counterfoil.schema.paths import InvalidPath, PathNotFound, StepKind, parse_path, resolve_path

    for text in reads:
        try:
            path = parse_path(text)
            if text != "*" and (not path or path[0].kind not in (StepKind.HEADER, StepKind.KEY)):
                resolve_path(schema, path)
        except (InvalidPath, PathNotFound) as mistake:
            raise UsageMistake(f"--reads {text}: {mistake}") from None


def _relative(path: str | None, out: str | None) -> str | None:
    """Return the path of the schema file from the folder of the file that is written."""
    import os

    if path is None:
        return None
    relative = Path(os.path.relpath(path, Path(out).parent if out else ".")).as_posix()
    return relative if relative.startswith("../") else f"./{relative}"
