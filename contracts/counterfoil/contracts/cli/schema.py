"""``counterfoil schema``: schemas of a registry, and the registration of schema files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from counterfoil.contracts.cli.options import parse_subjects, shown_address
from counterfoil.contracts.cli.project import chosen_project, project_option, registry_of
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands.output import STANDARD_OUTPUT, as_json, is_printed, print_json, print_rows
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.contracts.baselines.choose import Comparison
    from counterfoil.contracts.registration import Entry, Plan
    from counterfoil.contracts.subjects import Subjects
    from counterfoil.contracts.tree import SchemaTree
    from counterfoil.schema.model import Schema
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.registry_options import RegistryAccess


@click.group()
def schema() -> None:
    """Print the text of one schema, and register schema files.

    'counterfoil subjects' lists, shows and deletes what is registered.
    """


@schema.command(name="get")
@click.argument("subject", required=False)
@click.argument("version", required=False)
@registry_options(THE_REGISTRY)
@click.option("--id", "schema_id", type=click.IntRange(min=1), metavar="N", help="The schema with this id.")
@click.option("--guid", metavar="GUID", help="The schema with this guid.")
@click.option(
    "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the text to a file; - prints it."
)
@as_json
def get(
    subject: str | None,
    version: str | None,
    registry: RegistryAccess,
    schema_id: int | None,
    guid: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Print the text of a schema: a VERSION (default: the latest) of SUBJECT, or the one with an id or a guid.

    SUBJECT@VERSION names a version as well, as in other commands. With a VERSION beside it, SUBJECT is the whole name.

    With --json also its type, references, metadata and rules.

    Exit codes: 0 printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 there is no such schema.
    """
    if sum(one is not None for one in (subject, schema_id, guid)) != 1:
        raise click.UsageError("give SUBJECT, --id or --guid, and only one of them")
    if as_json and output == STANDARD_OUTPUT:
        raise click.UsageError("--json and --output - both print; leave one of them out")
    subject, version = _named(subject, version)
    if version != "latest" and not (version.isascii() and version.isdigit()):
        raise click.UsageError(f"VERSION is {version!r}; expected a number or latest")
    with registry.open() as client:
        found, facts = _found(client, subject, version, schema_id, guid)
    from counterfoil.schema.rest.schemas import schema_document

    if output is not None and not is_printed(output):
        from pathlib import Path

        Path(output).write_text(found.text, encoding="utf-8", newline="")
    if as_json:
        print_json({**facts, **schema_document(found)})
    elif is_printed(output):
        click.echo(found.text, nl=not found.text.endswith("\n"))


def _named(subject: str | None, version: str | None) -> tuple[str | None, str]:
    """Return subject and version, which may both be in the first argument."""
    from counterfoil.contracts.baselines.operands import SUBJECT_VERSION

    named = SUBJECT_VERSION.fullmatch(subject or "") if version is None else None
    return (named["subject"], named["version"]) if named else (subject, version or "latest")


def _found(
    client: Registry, subject: str | None, version: str, schema_id: int | None, guid: str | None
) -> tuple[Schema, dict[str, Any]]:
    if subject is not None:
        held = client.version(subject, "latest" if version == "latest" else int(version))
        facts = {"subject": held.subject, "version": held.version, "id": held.id}
        return held.schema, {**facts, "guid": str(held.guid)} if held.guid else facts
    if schema_id is not None:
        return client.schema_by_id(schema_id), {"id": schema_id}
    return client.schema_by_guid(str(guid)), {"guid": guid}


@schema.command(name="register")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option(
    "--subject",
    "subjects",
    multiple=True,
    metavar="FILE=SUBJECT",
    help="The subject of a file. Default: the project's; without a project the file's name, without suffix, if it ends "
    "in -key or -value, else the name by which other files refer to it. Repeatable.",
)
@project_option
@registry_options(THE_REGISTRY)
@click.option("--normalize", is_flag=True, help="Let the registry normalize the schemas.")
@click.option("--dry-run", is_flag=True, help="Register nothing; print what would be done, and the verdict.")
@as_json
def register(
    paths: tuple[str, ...],
    subjects: tuple[str, ...],
    config: str | None,
    registry: RegistryAccess,
    normalize: bool,
    dry_run: bool,
    as_json: bool,
) -> ExitCode:
    """Register the schema files in PATHS, and those that they refer to, in the order of references.

    PATHS are files and folders; without any, the current folder. The subjects are those of counterfoil.yaml, if there
    is one. Files are registered only when the compatibility level of every subject allows them, and that of
    counterfoil.yaml; files that are registered already stay as they are, so the command can be repeated. This is what a
    pipeline runs after a merge.

    Exit codes: 0 registered (with --dry-run: it can be), 1 a level refuses a file, 2 usage, 3 a file is an earlier
    version than the latest, 4 there is no schema file, 11 registry unreachable, 12 registry refused, 13 the registry
    changed meanwhile, 14 a file is missing.
    """
    from counterfoil.contracts.baselines.choose import Request, open_comparison
    from counterfoil.contracts.errors import InputNotFound, absent
    from counterfoil.contracts.model import FailOn
    from counterfoil.contracts.project.notes import notes_of
    from counterfoil.contracts.registration import Registration

    comparison = open_comparison(
        Request(
            ".",
            paths,
            subjects=parse_subjects(subjects),
            project=lambda top: chosen_project(config, top=top),
            is_to_register=True,
        )
    )
    if missing := comparison.scope.missing(comparison.head):
        raise InputNotFound(absent(missing[0], what="schema file or folder"))
    chosen = [each for each in comparison.selected if not _is_unused_part(comparison, each)]
    for note in notes_of(comparison.project, comparison.head, comparison.undeclared, comparison.linked):
        click.echo(f"note: {note}", err=True)
    if not chosen:
        click.echo("There is no schema file here, so nothing was registered.")
        return ExitCode.CANNOT_SAY
    access = registry_of(registry, comparison.project)
    with access.open() as client:
        registration = Registration(
            comparison.head, chosen, subjects=comparison.subjects, registry=client, normalize=normalize
        )
        plan = registration.plan(label=shown_address(access.url or ""), project=comparison.project, needs_both=True)
        _warn_of_tags(plan, comparison.head, comparison.subjects)
        is_refused = plan.report.is_broken(FailOn.ERROR)
        if is_refused and not as_json:
            _print_report(plan, prefix=comparison.scope.prefix)
        entries = iter(plan.entries) if dry_run or is_refused else registration.run(plan)
        _print(entries, is_done=not (dry_run or is_refused), is_refused=is_refused, as_json=as_json)
    if is_refused:
        return ExitCode.BROKEN
    return ExitCode.PENDING if any(each.repair for each in plan.entries) else ExitCode.OK


def _is_unused_part(comparison: Comparison, path: str) -> bool:
    """Return whether a file is a part of other schemas to which none refers, so that it is not registered."""
    found = comparison.subjects.of(path)
    return found.is_part and not found.subjects


def _warn_of_tags(plan: Plan, tree: SchemaTree, subjects: Subjects) -> None:
    """Print the tags of files that would be registered that mark what no field rule reaches, or nothing at all."""
    from counterfoil.contracts.registration import State
    from counterfoil.schema.tags.reach import has_tags, unencryptable_tags, unnamed_paths_of, unreached_tags

    for entry in plan.entries:
        schema = tree.read(entry.path).schema
        by_path = subjects.tags_by_path(entry.path)
        if entry.state is State.UNCHANGED or schema is None or not has_tags(schema.text, by_path):
            continue
        for each in unreached_tags(schema, by_path):
            click.echo(f"warning: {entry.path}: {each.text} (tag-not-reached)", err=True)
        for other in unencryptable_tags(schema, by_path):
            click.echo(f"notice: {entry.path}: {other.text} (tag-not-encryptable)", err=True)
        for path in unnamed_paths_of(schema, by_path):
            click.echo(f"warning: {entry.path}: {path.text} (tag-path-unknown)", err=True)


def _print_report(plan: Plan, *, prefix: str) -> None:
    """Print the findings because of which nothing is registered."""
    from counterfoil.contracts.cli.output import ReportWriter
    from counterfoil.contracts.reports.text import text_report

    style = ReportWriter().style(prefix)
    click.echo(text_report(plan.report, exit_code=ExitCode.BROKEN, style=style), nl=False)


def _print(entries: Iterator[Entry], *, is_done: bool, is_refused: bool, as_json: bool) -> None:
    """Print every entry; those that were registered before an error are printed as well."""
    done: list[Entry] = []
    try:
        done.extend(entries)
    finally:
        if as_json:
            print_json({"registered": is_done, "refused": is_refused, "files": [_document(entry) for entry in done]})
        else:
            print_rows(_row(entry) for entry in done)
            for repair in filter(None, (entry.repair for entry in done)):
                click.echo(repair)
    if not as_json and not is_done:
        click.echo(
            "Nothing was registered: see the errors above."
            if is_refused
            else "Nothing was registered: this is a dry run."
        )


def _row(entry: Entry) -> tuple[object, ...]:
    version = None if entry.version is None else f"version {entry.version}"
    schema_id = None if entry.id is None else f"id {entry.id}"
    return entry.state.value, entry.path, entry.subject, version, schema_id


def _document(entry: Entry) -> dict[str, Any]:
    return {
        "file": entry.path,
        "subject": entry.subject,
        "state": entry.state.value,
        "version": entry.version,
        "id": entry.id,
        **({"latest": entry.latest, "repair": entry.repair} if entry.repair else {}),
    }
