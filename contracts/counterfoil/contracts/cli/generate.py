"""``counterfoil generate``: files of contracts and products from schemas; examples and pages from contracts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from counterfoil.contracts.cli.options import chain
from counterfoil.schema.agreements import Contract
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import is_printed
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.generate.examples import Examples
    from counterfoil.schema.parsed import ParsedSchema


# ``counterfoil generate fixtures``, ``vectors``, ``strategy`` and ``docs``: files that are made from contracts.

out_options: Final = chain(
    click.option("--out", metavar="FILE", help="The file to write; without it, or with -, the text is printed."),
    click.option("--check", is_flag=True, help="Write nothing, and exit 1 if FILE of --out has another text."),
)
_line_options = chain(
    click.option("--count", type=click.IntRange(min=1), default=20, show_default=True, help="How many lines to make."),
    click.option("--seed", type=int, default=0, show_default=True, help="The same seed makes the same lines."),
    out_options,
)


@click.command()
@click.argument("contract")
@click.option("--topic", help="One of its topics. Default: the first.")
@_line_options
def fixtures(contract: str, topic: str | None, count: int, seed: int, out: str | None, check: bool) -> ExitCode:
    """Write example records of CONTRACT, one JSON object on each line, as `counterfoil produce` reads them.

    CONTRACT is an id, a topic or the path of a contract file. The first record has nothing that may be absent; the
    others have ordinary and extreme values, and keep everything that the contract promises.

    Exit codes: 0 written or printed, 1 the file differs (--check), 2 usage, 14 no such contract, an invalid one, or one
    without a schema file or without possible values.
    """
    from counterfoil.contracts.generate.library import ContractLibrary, fixture_lines

    found = ContractLibrary(".").find(contract, topic)
    return put_text(_joined(fixture_lines(found, count=count, seed=seed)), out, is_checked=check)


@click.command()
@click.argument("contracts", nargs=-1, required=True)
@_line_options
def vectors(contracts: tuple[str, ...], count: int, seed: int, out: str | None, check: bool) -> ExitCode:
    """Write golden vectors of CONTRACTS, one JSON object on each line, for serializers in any language.

    CONTRACTS are ids, topics, or paths of contract or schema files. A line has the schema, a value, the bytes of its
    message in hexadecimal, their framing, and the value that reading them returns. Compare values and not bytes: the
    order of maps is free. Values are in the form of `counterfoil encode`.

    Exit codes: 0 written or printed, 1 the file differs (--check), 2 usage, 14 no such contract, an invalid one, or one
    without a schema file or without possible values.
    """
    from counterfoil.contracts.generate.library import vector_lines

    named = [_examples(each) for each in contracts]
    lines = (each for name, one in named for each in vector_lines(one, count=count, seed=seed, name=name))
    return put_text(_joined(lines), out, is_checked=check)


@click.command()
@click.argument("contract")
@click.option("--topic", help="One of its topics. Default: the first.")
@out_options
def strategy(contract: str, topic: str | None, out: str | None, check: bool) -> ExitCode:
    """Write a Python module with Hypothesis strategies for the values of CONTRACT, which may be changed and kept.

    CONTRACT is an id, a topic or the path of a contract file. The module needs Hypothesis alone. Rules in CEL are not
    part of it: they are in a comment.

    Exit codes: 0 written or printed, 1 the file differs (--check), 2 usage, 14 no such contract, an invalid one, or one
    without a schema file or with types for which no strategy is written.
    """
    from counterfoil.contracts.generate.library import ContractLibrary
    from counterfoil.contracts.generate.strategy import strategy_text

    return put_text(strategy_text(ContractLibrary(".").find(contract, topic)), out, is_checked=check)


@click.command()
@click.argument("contract")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "html"]),
    help="The form of the page. Default: html for a FILE of --out that ends in .html, else markdown.",
)
@out_options
def docs(contract: str, form: str | None, out: str | None, check: bool) -> ExitCode:
    """Write the page of CONTRACT: its fields, their types, meaning, values and tags, who owns it, and who reads it.

    CONTRACT is an id, a topic or the path of a contract file. Who reads it is what the product files here declare.

    Exit codes: 0 written or printed, 1 the file differs (--check), 2 usage, 14 no such contract, an invalid one, or one
    without a schema file.
    """
    from counterfoil.contracts.generate.contract_page import contract_page, html, markdown
    from counterfoil.contracts.generate.library import ContractLibrary

    library = ContractLibrary(".")
    first = library.find(contract)
    topics = [library.find(contract, each.topic) for each in first.contract.promises]
    page = contract_page(topics, library.readers(first.id))
    chosen = form or ("html" if out is not None and out.endswith((".html", ".htm")) else "markdown")
    return put_text(html(page) if chosen == "html" else markdown(page), out, is_checked=check)


def put_text(text: str, out: str | None, *, is_checked: bool) -> ExitCode:
    """Write a text to a file, print it without one, or compare it with the file."""
    if is_printed(out):
        if is_checked:
            raise click.UsageError("--check needs the file to compare with: --out FILE")
        sys.stdout.write(text)
        return ExitCode.OK
    place = Path(out or "")
    if not is_checked:
        place.write_text(text, encoding="utf-8")
        return ExitCode.OK
    if place.is_file() and place.read_text(encoding="utf-8", errors="replace") == text:
        return ExitCode.OK
    sys.stderr.write(f"{out} differs from what this command would write\n")
    return ExitCode.BROKEN


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _examples(name: str) -> tuple[str, Examples]:
    """Return the examples of a contract, or of a schema file, with its name."""
    from counterfoil.contracts.baselines.operands import read_operand
    from counterfoil.contracts.generate.library import ContractLibrary, examples_of
    from counterfoil.contracts.project.languages import has_schema_suffix, stem_of

    if has_schema_suffix(name) and Path(name).is_file():
        return stem_of(name), examples_of(read_operand(name, ".", registry=None), None)
    found = ContractLibrary(".").find(name)
    return found.topic, found.examples


# ``counterfoil generate``: contract and product files from schemas.

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
    from counterfoil.contracts.generate.documents import ContractFacts, contract_text

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
    from counterfoil.contracts.generate.documents import ConsumerFacts, all_reads, consumer_text
    from counterfoil.schema.agreements import major_of

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
    from counterfoil.contracts.project.languages import stem_of

    found = find_operand(operand, ".", registry=registry.open if registry.url else None).read
    if found.schema is None:
        raise InvalidOperand(operand, "it has no schema")
    if Path(operand).is_file():
        return _Source(found.schema, stem_of(operand), operand)
    named = SUBJECT_VERSION.fullmatch(operand)
    return _Source(found.schema, named["subject"] if named else stem_of(operand.partition(":")[2]), None)


def _contract(place: str) -> Contract:
    from counterfoil.contracts.errors import InvalidOperand
    from counterfoil.schema.agreements import Contract
    from counterfoil.schema.agreements.documents import read_agreement

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
