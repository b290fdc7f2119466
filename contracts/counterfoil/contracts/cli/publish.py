"""``counterfoil schema`` and ``publish``: schema files and contract files are stored in a registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.options import chosen_project, parse_subjects, project_option, registry_of, shown_address
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Schema
from counterfoil.sdk.commands import STANDARD_OUTPUT, as_json, is_printed, print_json, print_rows
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.choose import ComparedSides
    from counterfoil.contracts.deploy.publication import PublishedContractFiles
    from counterfoil.contracts.deploy.registration import RegistrationEntry, RegistrationPlan
    from counterfoil.contracts.lint.lint import LintReport
    from counterfoil.contracts.project import SchemaTree
    from counterfoil.contracts.project.subjects import Subjects
    from counterfoil.schema.errors import RegistryError
    from counterfoil.schema.rest.contracts import Publication
    from counterfoil.schema.rest.verdicts import ContractMigration
    from counterfoil.sdk.client import Registry


# ``counterfoil schema``: schemas of a registry, and the registration of schema files.


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
) -> tuple[Schema, JsonObject]:
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
    from counterfoil.contracts.baselines.choose import ComparisonRequest, open_comparison
    from counterfoil.contracts.deploy.registration import FileRegistration
    from counterfoil.contracts.errors import InputNotFound, absent
    from counterfoil.contracts.findings import FailOn
    from counterfoil.contracts.project.subjects import notes_of

    comparison = open_comparison(
        ComparisonRequest(
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
        registration = FileRegistration(
            comparison.head, chosen, subjects=comparison.subjects, registry=client, normalize=normalize
        )
        plan = registration.plan(label=shown_address(access.url or ""), project=comparison.project, needs_both=True)
        _warn_of_tags(plan, comparison.head, comparison.subjects)
        is_refused = plan.report.is_broken(FailOn.ERROR)
        if is_refused and not as_json:
            _print_report(plan, prefix=comparison.scope.prefix)
        entries = iter(plan.entries) if dry_run or is_refused else registration.run(plan)
        _print_registration(entries, is_done=not (dry_run or is_refused), is_refused=is_refused, as_json=as_json)
    if is_refused:
        return ExitCode.BROKEN
    return ExitCode.PENDING if any(each.repair for each in plan.entries) else ExitCode.OK


def _is_unused_part(comparison: ComparedSides, path: str) -> bool:
    """Return whether a file is a part of other schemas to which none refers, so that it is not registered."""
    found = comparison.subjects.of(path)
    return found.is_part and not found.subjects


def _warn_of_tags(plan: RegistrationPlan, tree: SchemaTree, subjects: Subjects) -> None:
    """Print the tags of files that would be registered that mark what no field rule reaches, or nothing at all."""
    from counterfoil.contracts.deploy.registration import RegistrationState
    from counterfoil.schema.tags import has_tags, unencryptable_tags, unnamed_paths_of, unreached_tags

    for entry in plan.entries:
        schema = tree.read(entry.path).schema
        by_path = subjects.tags_by_path(entry.path)
        if entry.state is RegistrationState.UNCHANGED or schema is None or not has_tags(schema.text, by_path):
            continue
        for each in unreached_tags(schema, by_path):
            click.echo(f"warning: {entry.path}: {each.text} (tag-not-reached)", err=True)
        for other in unencryptable_tags(schema, by_path):
            click.echo(f"notice: {entry.path}: {other.text} (tag-not-encryptable)", err=True)
        for path in unnamed_paths_of(schema, by_path):
            click.echo(f"warning: {entry.path}: {path.text} (tag-path-unknown)", err=True)


def _print_report(plan: RegistrationPlan, *, prefix: str) -> None:
    """Print the findings because of which nothing is registered."""
    from counterfoil.contracts.cli.options import ReportWriter
    from counterfoil.contracts.reports import text_report

    style = ReportWriter().style(prefix)
    click.echo(text_report(plan.report, exit_code=ExitCode.BROKEN, style=style), nl=False)


def _print_registration(
    entries: Iterator[RegistrationEntry], *, is_done: bool, is_refused: bool, as_json: bool
) -> None:
    """Print every entry; those that were registered before an error are printed as well."""
    done: list[RegistrationEntry] = []
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


def _row(entry: RegistrationEntry) -> tuple[object, ...]:
    version = None if entry.version is None else f"version {entry.version}"
    schema_id = None if entry.id is None else f"id {entry.id}"
    return entry.state.value, entry.path, entry.subject, version, schema_id


def _document(entry: RegistrationEntry) -> JsonObject:
    return {
        "file": entry.path,
        "subject": entry.subject,
        "state": entry.state.value,
        "version": entry.version,
        "id": entry.id,
        **({"latest": entry.latest, "repair": entry.repair} if entry.repair else {}),
    }


# ``counterfoil publish``: the contracts of one version of an application are stored in a registry.

_DIGEST_LENGTH = 12


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--application", required=True, metavar="NAME", help="The application that publishes.")
@click.option("--version", required=True, metavar="VERSION", help="The version of the application.")
@click.option("--branch", default="", metavar="NAME", help="The branch that the version comes from.")
@click.option("--commit", default="", metavar="HASH", help="The commit that the version comes from.")
@click.option("--build-url", default="", metavar="URL", help="The address of the build.")
@click.option("--dry-run", is_flag=True, help="Store nothing; only check what would be stored.")
@project_option
@registry_options(THE_REGISTRY)
@as_json
def publish(
    paths: tuple[str, ...],
    application: str,
    version: str,
    branch: str,
    commit: str,
    build_url: str,
    dry_run: bool,
    config: str | None,
    registry: RegistryAccess,
    as_json: bool,
) -> ExitCode:
    """Store the contract files (ODCS) and product files (ODPS) in PATHS, all of them or none.

    PATHS are files and folders; without any, the current folder. Files are found as by `counterfoil lint`, which must
    find no error in them. Each is sent with the schema files to which it refers; where there is no such file, the
    registry takes the latest version of the subject. A published version of a contract never changes; publishing the
    same again changes nothing. The migrations of contracts are stored with the names of their bridges.

    Exit codes: 0 stored (with --dry-run: it can be), 1 a file is invalid, 2 usage, 4 there is no contract or product
    file, 11 registry unreachable, 12 registry refused, 13 a version is published with other content, 14 a file or a
    registered schema is missing.
    """
    from dataclasses import replace
    from datetime import UTC, datetime

    from counterfoil.contracts.deploy.publication import PublishedContractFiles
    from counterfoil.contracts.findings import FailOn
    from counterfoil.contracts.lint.lint import collect, lint_files
    from counterfoil.contracts.reports.lint import is_failing, selected
    from counterfoil.schema.errors import ContractExists, InvalidContract
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.rest.contracts import NewPublication
    from counterfoil.sdk import operations

    collected = collect(".", paths, config=config)
    if not collected.given.agreements:
        click.echo("There is no contract or product file here, so nothing was published.")
        return ExitCode.CANNOT_SAY
    files = PublishedContractFiles(collected.given, collected.project)
    today = datetime.now(UTC).date()
    found = lint_files(replace(collected.given, schemas=files.schemas, project=None), today=today)
    report = selected(found, None, collected.project, today=today)
    if errors := tuple(one for one in report.findings if is_failing(one, FailOn.ERROR)):
        _print_errors(replace(report, findings=errors), prefix=collected.prefix)
        return ExitCode.BROKEN
    with registry_of(registry, collected.project).open() as client:
        new = NewPublication(application, version, files.contracts(client), branch, commit, build_url)
        try:
            publication = client.call(operations.publish(new, dry_run=dry_run))
        except ContractExists as conflict:
            _print_differences(conflict)
            raise
        except InvalidContract as mistake:
            click.echo(f"counterfoil: {mistake}", err=True)
            return ExitCode.BROKEN
        migrations = () if dry_run else _put_migrations(client, files)
    if as_json:
        from counterfoil.schema.rest.contracts import PUBLICATION
        from counterfoil.schema.rest.verdicts import MIGRATION

        stored = [MIGRATION.write(each) for each in migrations]
        print_json({"stored": not dry_run, **PUBLICATION.write(publication), "migrations": stored})
    else:
        _print_publication(publication, is_dry=dry_run)
        for each in migrations:
            click.echo(
                f"Migration {each.id}: the bridge {each.bridge} is run by {each.application}"
                f"{f', until {each.sunset}' if each.sunset else ''}."
            )
    return ExitCode.OK


def _put_migrations(client: Registry, files: PublishedContractFiles) -> list[ContractMigration]:
    """Store the migrations of the contracts, and return them."""
    from counterfoil.contracts.deploy.publication import renewed
    from counterfoil.sdk import operations

    given = files.migrations()
    held = {each.id: each for each in client.call(operations.migrations())} if given else {}
    return [client.call(operations.put_migration(renewed(each, held.get(each.id)))) for each in given]


def _print_publication(publication: Publication, *, is_dry: bool) -> None:
    """Print all contracts of the version, and the notices."""
    from counterfoil.contracts.reports import printable
    from counterfoil.schema.texts import counted

    print_rows((each.kind, each.id, each.version, each.hash[:_DIGEST_LENGTH]) for each in publication.contracts)
    for notice in publication.notices:
        click.echo(printable(f"notice: {notice}"))
    whose = f"{publication.application} {publication.version}"
    number = counted(len(publication.contracts), "contract")
    end = "Nothing was stored: this is a dry run." if is_dry else ""
    click.echo(printable(f"{whose} {'would have' if is_dry else 'has'} {number}. {end}".rstrip()))


def _print_errors(report: LintReport, *, prefix: str) -> None:
    """Print the errors in the files, because of which nothing is published."""
    from counterfoil.contracts.cli.options import ReportWriter
    from counterfoil.contracts.reports.lint import lint_text_report
    from counterfoil.schema.exit_codes import ExitCode

    style = ReportWriter().style(prefix)
    click.echo(lint_text_report(report, exit_code=ExitCode.BROKEN, style=style), nl=False)
    click.echo("Nothing was published.")


def _print_differences(conflict: RegistryError) -> None:
    """Print what differs from the version that is published: schemas, what changed in them, and lines of the file."""
    from counterfoil.contracts.reports import printable

    schemas: list[str] = []
    lines: list[str] = []
    for line in _texts(conflict, "differences"):
        (schemas if line.startswith("schema ") and not lines else lines).append(line)
    for line in (*schemas, *(f"  {each}" for each in _texts(conflict, "changes")), *lines):
        click.echo(printable(line))


def _texts(conflict: RegistryError, member: str) -> list[str]:
    found = conflict.details.get(member)
    return [str(each) for each in found] if isinstance(found, list) else []
