"""``counterfoil generate fixtures``, ``vectors``, ``strategy`` and ``docs``: files that are made from contracts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from counterfoil.contracts.cli.options import chain
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands.output import is_printed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.contracts.examples.examples import Examples

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
    from counterfoil.contracts.generating.example_lines import fixture_lines
    from counterfoil.contracts.library import ContractLibrary

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
    from counterfoil.contracts.generating.example_lines import vector_lines

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
    from counterfoil.contracts.generating.strategy import strategy_text
    from counterfoil.contracts.library import ContractLibrary

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
    from counterfoil.contracts.generating.contract_page import contract_page
    from counterfoil.contracts.generating.pages import html, markdown
    from counterfoil.contracts.library import ContractLibrary

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
    from counterfoil.contracts.languages import has_schema_suffix, stem_of
    from counterfoil.contracts.library import ContractLibrary, examples_of

    if has_schema_suffix(name) and Path(name).is_file():
        return stem_of(name), examples_of(read_operand(name, ".", registry=None), None)
    found = ContractLibrary(".").find(name)
    return found.topic, found.examples
