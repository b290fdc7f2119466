"""``counterfoil init``, ``tutorial``, ``completion`` and ``mcp``: how one starts with counterfoil."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from counterfoil.contracts.cli.run import DISTRIBUTION
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import as_json, print_json
from counterfoil.sdk.commands.options import BOOTSTRAP_SERVERS, THE_REGISTRY, RegistryAccess, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.generate.documents import FoundSchemas


# ``counterfoil init``: writes the project file for the schema files of a repository.


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

    from counterfoil.contracts.generate.documents import lines_of, project_text
    from counterfoil.contracts.project.model import PROJECT_FILE_NAME
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
    place = Path(PROJECT_FILE_NAME)
    if not force:
        _insist_on_no_project(place)
    place.write_text(text, encoding="utf-8")
    if as_json:
        lines = lines_of(found)
        guesses = sum(line.is_guess for line in lines)
        print_json(
            {"file": PROJECT_FILE_NAME, "schemas": len(found.schemas), "entries": len(lines), "guesses": guesses}
        )
        return ExitCode.OK
    sys.stdout.write(_explanation(found, has_registry=registry is not None))
    return ExitCode.OK


def _insist_on_no_project(place: Path) -> None:
    """Raise ``PreconditionFailed`` if there is a project file here, or in a folder around of the same repository."""
    from counterfoil.contracts.baselines.git import find_repository
    from counterfoil.contracts.errors import PreconditionFailed
    from counterfoil.contracts.project.files import nearest_file

    if place.exists():
        raise PreconditionFailed(f"{place} exists; --force replaces it, --print shows what would be written")
    repository = find_repository(".")
    around = nearest_file(".", top=repository.top if repository else None)
    if around is not None:
        raise PreconditionFailed(
            f"{around} is the project file of this folder, too; commands in this folder would no longer read it if "
            f"there was a second one: add entries there, or write a second one with --force"
        )


def _found() -> FoundSchemas:
    from counterfoil.contracts.generate.documents import look
    from counterfoil.contracts.lint.lint import collect
    from counterfoil.schema.agreements.documents import read_agreement

    collected = collect(".", (), has_project=False)
    prefix, given = collected.prefix, collected.given
    read = ((path, read_agreement((given.read(path) or b"").decode("utf-8", "replace"))) for path in given.agreements)
    agreements = {path: reading.agreement for path, reading in read}
    return look(given.tree, agreements, others=given.undeclared()).below(prefix)


def _explanation(found: FoundSchemas, *, has_registry: bool) -> str:
    """Return what was written, and the commands that use it."""
    from counterfoil.contracts.generate.documents import lines_of
    from counterfoil.contracts.project.model import PROJECT_FILE_NAME
    from counterfoil.schema.texts import counted

    lines = lines_of(found)
    guesses = sum(line.is_guess for line in lines)
    files, entries = counted(len(found.schemas), "schema file"), counted(len(lines), "entry", "entries")
    text = f"{PROJECT_FILE_NAME} maps {files} in {entries}.\n"
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


# ``counterfoil tutorial``: the files and the start state of a tutorial, in an empty folder.

_FOLDER: Final = click.argument("folder", type=click.Path(path_type=Path, readable=False))
_DEFAULT_BROKERS: Final = "localhost:9092"


@click.group()
def tutorial() -> None:
    """Make the start of a tutorial in a folder: its files, and what a registry has before the first step.

    The folder must be empty, or not exist yet. The pages of the tutorials say which commands follow.
    """


@tutorial.command()
@_FOLDER
@as_json
def quickstart(folder: Path, as_json: bool) -> None:
    """Make a git repository with a schema and a change of it that breaks.

    The page: https://github.com/counterfoil/counterfoil/blob/main/docs/quickstart-check.md

    Exit codes: 0 made, 2 usage, 14 the folder is not empty, or git is not installed.
    """
    from counterfoil.contracts.tutorials import lay_quickstart

    _print("quickstart", folder, lay_quickstart(folder), ("counterfoil check",), as_json=as_json)


@tutorial.command(name="intended-break")
@_FOLDER
@registry_options(THE_REGISTRY)
@as_json
def intended_break(folder: Path, registry: RegistryAccess, as_json: bool) -> None:
    """Make the repository of a contract, and a registry in which it is live.

    The page: https://github.com/counterfoil/counterfoil/blob/main/docs/tutorial-intended-break.md

    Exit codes: 0 made, 2 usage, 11 registry unreachable, 12 registry refused, 13 the registry has other content of
    these names, 14 the folder is not empty, or git is not installed.
    """
    from counterfoil.contracts.tutorials import lay_intended_break

    with registry.open() as client:
        made = lay_intended_break(folder, client)
    steps = ("counterfoil can-i-deploy --retire orders.placed@1 --environment production",)
    _print("intended-break", folder, made, steps, as_json=as_json)


@tutorial.command()
@_FOLDER
@registry_options(THE_REGISTRY)
@click.option(
    "--bootstrap-servers",
    "brokers",
    envvar=BOOTSTRAP_SERVERS,
    default=_DEFAULT_BROKERS,
    show_default=True,
    metavar="HOST:PORT",
    help=f"The Kafka brokers that the programs connect to.  [{BOOTSTRAP_SERVERS}]",
)
@as_json
def migrate(folder: Path, registry: RegistryAccess, brokers: str, as_json: bool) -> None:
    """Write a schema, a producer and a service of a topic.

    The page: https://github.com/counterfoil/counterfoil/blob/main/docs/migrating-a-topic.md

    Exit codes: 0 made, 2 usage, 11 registry unreachable, 12 registry refused, 13 the registry has another schema, 14
    the folder is not empty.
    """
    from counterfoil.contracts.cli.options import shown_address
    from counterfoil.contracts.tutorials import lay_migration

    with registry.open() as client:
        made = lay_migration(folder, client, address=shown_address(registry.url or ""), brokers=brokers)
    _print("migrate", folder, made, ("python old_producer.py",), as_json=as_json)


def _print(name: str, folder: Path, made: str, steps: tuple[str, ...], *, as_json: bool) -> None:
    """Print what was made, and the commands that come next."""
    enter = f"cd {shlex.quote(str(folder))}"
    if as_json:
        print_json({"tutorial": name, "folder": str(folder), "made": made, "next": [enter, *steps]})
        return
    click.echo(f"{made}.")
    click.echo(f"Next: {enter} && {' && '.join(steps)}")


# ``counterfoil completion``: what a shell needs to complete commands and options.

_COMPLETIONS: Final[dict[str, type[ShellComplete]]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(_COMPLETIONS)))
def completion(shell: str) -> None:
    """Print the completion of commands and options for SHELL.

    \b
    bash:  counterfoil completion bash > ~/.local/share/bash-completion/completions/counterfoil
    zsh:   counterfoil completion zsh > "${fpath[1]}/_counterfoil"
    fish:  counterfoil completion fish > ~/.config/fish/completions/counterfoil.fish

    A new shell then completes: type counterfoil and a part of a command, and press Tab.

    Exit codes: 0 printed, 2 usage.
    """  # noqa: D301 (the character by which click keeps the lines of a paragraph)
    complete = _COMPLETIONS[shell](click.Group(), {}, DISTRIBUTION, f"_{DISTRIBUTION.upper()}_COMPLETE")
    click.echo(complete.source())


# ``counterfoil mcp``: read-only tools for language models, over the Model Context Protocol.


@click.command()
@registry_options(THE_REGISTRY)
def mcp(registry: RegistryAccess) -> None:
    """Serve read-only tools over the Model Context Protocol, on standard input and output, until the input ends.

    A program with a language model starts this command. The tools find, read, compare and check schemas, say who reads
    a field and whether a version may be deployed, decode messages and explain rules. They do what the credentials of
    the options and variables permit, and change nothing. Without a registry, a change is checked against a given text.

    Exit codes: 0 the input ended, 2 usage, 14 the extra mcp is not installed.
    """
    from counterfoil.schema.errors import needed_by

    with needed_by("The server of tools", extra="mcp"):
        from counterfoil.contracts.assistants.server import server_of
    from counterfoil.contracts.assistants import Tools
    from counterfoil.contracts.cli.run import find_installed

    tools = Tools(registry.open)
    server_of(tools, version=find_installed().version, sentence_of=_sentence_of).run("stdio")


def _sentence_of(error: Exception) -> str:
    """Return the sentence about an error; a bug has its traceback in a file."""
    from counterfoil.contracts.cli.run import exit_code_for, keep_traceback
    from counterfoil.schema.exit_codes import ExitCode

    if isinstance(error, click.ClickException):
        return error.format_message()
    text = str(error) or type(error).__name__
    if exit_code_for(error) is not ExitCode.BUG:
        return text
    return f"unexpected {type(error).__name__}: {text} ({keep_traceback(error)})"
