"""``counterfoil init``: writes the project file for the schema files of a repository."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from counterfoil.sdk.commands.output import as_json, print_json

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.contracts.generating.project import Found
    from counterfoil.schema.exit_codes import ExitCode


@click.command()
@click.option(
    "--registry", metavar="URL", envvar="COUNTERFOIL_REGISTRY_URL", help="The registry to write into the file."
)
@click.option("--owner", metavar="TEAM", help="The team that is responsible for the schemas.")
@click.option("--print", "is_printed", is_flag=True, help="Print the file and write nothing.")
@click.option("--force", is_flag=True, help="Write the file although there is one, here or in a folder around.")
@as_json
def init(registry: str | None, owner: str | None, is_printed: bool, force: bool, as_json: bool) -> ExitCode:
    """Write counterfoil.yaml, the project file, for the schema files in this folder and below.

    Schema files are Avro (.avsc), Protobuf (.proto) and JSON Schema (.schema.json, .jsonschema, and .json with a
    $schema); files that git ignores are left out. The subject of a file comes from its contract, from its name, or is a
    guess, which is marked as one. Comments in the file explain each entry.

    Exit codes: 0 written or printed, 2 usage, 4 there is no schema file, 14 there is a file, here or around.
    """
    from pathlib import Path

    from counterfoil.contracts.generating.project import lines_of, project_text
    from counterfoil.contracts.project.model import FILE_NAME
    from counterfoil.schema.exit_codes import ExitCode

    if is_printed and as_json:
        raise click.UsageError("--print prints the file, and --json what was written; give one of them")
    found = _found()
    if not found.schemas:
        sys.stderr.write(
            "There is no schema file here (.avsc, .proto, .schema.json or .jsonschema), so nothing was written.\n"
        )
        return ExitCode.CANNOT_SAY
    text = project_text(found, registry=registry, owner=owner)
    if is_printed:
        sys.stdout.write(text)
        return ExitCode.OK
    place = Path(FILE_NAME)
    if not force:
        _insist_on_no_project(place)
    place.write_text(text, encoding="utf-8")
    if as_json:
        lines = lines_of(found)
        guesses = sum(line.is_guess for line in lines)
        print_json({"file": FILE_NAME, "schemas": len(found.schemas), "entries": len(lines), "guesses": guesses})
        return ExitCode.OK
    sys.stdout.write(_explanation(found, has_registry=registry is not None))
    return ExitCode.OK


def _insist_on_no_project(place: Path) -> None:
    """Raise ``PreconditionFailed`` if there is a project file here, or in a folder around of the same repository."""
    from counterfoil.contracts.baselines.git import find_repository
    from counterfoil.contracts.errors import PreconditionFailed
    from counterfoil.contracts.project.finding import nearest_file

    if place.exists():
        raise PreconditionFailed(f"{place} exists; --force replaces it, --print shows what would be written")
    repository = find_repository(".")
    around = nearest_file(".", top=repository.top if repository else None)
    if around is not None:
        raise PreconditionFailed(
            f"{around} is the project file of this folder, too; commands in this folder would no longer read it if "
            f"there was a second one: add entries there, or write a second one with --force"
        )


def _found() -> Found:
    from counterfoil.contracts.generating.project import look
    from counterfoil.contracts.linting.collecting import collect
    from counterfoil.schema.agreements.document import read_agreement

    collected = collect(".", (), has_project=False)
    prefix, given = collected.prefix, collected.given
    read = ((path, read_agreement((given.read(path) or b"").decode("utf-8", "replace"))) for path in given.agreements)
    agreements = {path: reading.agreement for path, reading in read}
    return look(given.tree, agreements, others=given.undeclared()).below(prefix)


def _explanation(found: Found, *, has_registry: bool) -> str:
    """Return what was written, and the commands that use it."""
    from counterfoil.contracts.generating.project import lines_of
    from counterfoil.contracts.project.model import FILE_NAME
    from counterfoil.schema.counting import counted

    lines = lines_of(found)
    guesses = sum(line.is_guess for line in lines)
    text = (
        f"{FILE_NAME} maps {counted(len(found.schemas), 'schema file')} in {counted(len(lines), 'entry', 'entries')}.\n"
    )
    if guesses:
        entries = counted(guesses, "entry", "entries")
        text += f"In {entries} the subject is a guess: correct it before you check against a registry.\n"
    against = "  counterfoil check --against registry   compares them with the registry\n" if has_registry else ""
    return (
        f"{text}Next:\n"
        "  counterfoil lint                       checks the files by themselves\n"
        "  counterfoil check                      compares changed schemas with the default branch\n"
        f"{against}"
        "  counterfoil generate contract FILE     writes a contract for a schema\n"
    )
