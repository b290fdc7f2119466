"""``counterfoil subjects``: the subjects of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from counterfoil.sdk.commands.output import as_json, confirmed, print_json, print_rows, ranges
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.schema.rest.versions import RegisteredSchema
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.registry_options import RegistryAccess

_VISIBILITIES = ("active", "all", "deleted")


@click.group()
def subjects() -> None:
    """List, show and delete subjects, which hold the versions of a schema.

    'counterfoil schema' prints the text of one version, and registers files.
    """


@subjects.command(name="list")
@registry_options(THE_REGISTRY)
@click.option("--prefix", metavar="TEXT", help="Only subjects whose names begin with this; :.CONTEXT: names a context.")
@click.option(
    "--show",
    type=click.Choice(_VISIBILITIES),
    default=_VISIBILITIES[0],
    show_default=True,
    help="Which subjects: with active versions, also the soft-deleted ones, or only those.",
)
@as_json
def list_subjects(registry: RegistryAccess, prefix: str | None, show: str, as_json: bool) -> None:
    """Print the names of all subjects, one in each line.

    Exit codes: 0 printed, 2 usage, 11 registry unreachable, 12 registry refused.
    """
    from counterfoil.schema.rest.versions import Visibility

    visibility = dict(zip(_VISIBILITIES, Visibility, strict=True))[show]
    with registry.open() as client:
        names = client.subjects(prefix=prefix, visibility=visibility)
    if as_json:
        print_json(list(names))
    else:
        for name in names:
            click.echo(name)


@subjects.command(name="show")
@click.argument("subject")
@registry_options(THE_REGISTRY)
@as_json
def show_subject(subject: str, registry: RegistryAccess, as_json: bool) -> None:
    """Print the versions of SUBJECT, its latest schema's facts, and the settings in effect.

    Exit codes: 0 printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 there is no such subject.
    """
    with registry.open() as client:
        facts = _facts(client, subject)
    if as_json:
        print_json(facts)
        return
    latest = facts["latest"] or {}
    rows = [
        ("subject", facts["subject"]),
        ("versions", ranges(facts["versions"]) or "none"),
        ("soft-deleted", ranges(facts["deletedVersions"])),
        (
            "latest",
            ", ".join(f"{key} {latest[key]}" for key in ("version", "id", "schemaType", "guid") if key in latest),
        ),
        ("refers to", ", ".join(f"{one['name']} ({one['subject']} {one['version']})" for one in _references(latest))),
        ("referred to by", ranges(facts["referencedBy"]) and f"ids {ranges(facts['referencedBy'])}"),
        ("compatibility", facts["compatibility"]),
        ("mode", facts["mode"]),
    ]
    print_rows(row for row in rows if row[1])


@subjects.command(name="delete")
@click.argument("subject")
@registry_options(THE_REGISTRY)
@click.option("--version", "number", type=click.IntRange(min=1), metavar="N", help="Only this version.")
@click.option(
    "--permanent", is_flag=True, help="Remove what was soft-deleted before. Its ids can then no longer be read."
)
@confirmed
@as_json
def delete_subject(
    subject: str,
    registry: RegistryAccess,
    number: int | None,
    permanent: bool,
    is_confirmed: bool,
    as_json: bool,
) -> None:
    """Delete SUBJECT or one of its versions; without --yes only print what would be deleted.

    A soft-deleted version is hidden, and its schema can still be read by its id; registering the same schema again
    makes a new version.

    Exit codes: 0 deleted or printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 there is nothing to
    delete, or other schemas refer to it.
    """
    from counterfoil.schema.rest.versions import Deletion

    deletion = Deletion.PERMANENT if permanent else Deletion.SOFT
    with registry.open() as client:
        concerned = _concerned(client, subject, number, is_permanent=permanent)
        if is_confirmed and number is None:
            concerned = client.delete_subject(subject, deletion=deletion)
        elif is_confirmed and number is not None:
            client.delete_version(subject, number, deletion=deletion)
    if as_json:
        done = {"subject": subject, "versions": list(concerned), "deletion": deletion.value, "done": is_confirmed}
        print_json(done)
        return
    how = "permanently" if permanent else "softly"
    click.echo(f"{'Deleted' if is_confirmed else 'Would delete'} {how}: {subject} {_counted(concerned)}")
    if not is_confirmed:
        click.echo("Nothing was deleted. Add --yes to delete.")


def _concerned(client: Registry, subject: str, number: int | None, *, is_permanent: bool) -> tuple[int, ...]:
    """Return the versions that a deletion would concern; raise the registry's error where there is none."""
    from counterfoil.schema.errors import SubjectNotFound, VersionNotFound
    from counterfoil.schema.rest.versions import Visibility

    if number is not None:
        client.version(subject, number, visibility=Visibility.WITH_DELETED if is_permanent else Visibility.ACTIVE)
        if is_permanent and number not in _versions(client, subject)[1]:
            raise VersionNotFound(f"Version {number} of {subject!r} is not soft-deleted; delete it softly first")
        return (number,)
    if not is_permanent:
        return client.versions(subject)
    _, deleted = _versions(client, subject)
    if not deleted:
        raise SubjectNotFound(f"Subject {subject!r} has no soft-deleted versions; delete it softly first")
    return deleted


def _versions(client: Registry, subject: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the active and the soft-deleted versions of a subject; none where it has never been."""
    from counterfoil.schema.errors import SubjectNotFound
    from counterfoil.schema.rest.versions import Visibility

    try:
        known = client.versions(subject, visibility=Visibility.WITH_DELETED)
    except SubjectNotFound:
        return (), ()
    try:
        active = client.versions(subject)
    except SubjectNotFound:
        active = ()
    return active, tuple(number for number in known if number not in set(active))


def _facts(client: Registry, subject: str) -> dict[str, Any]:
    active, deleted = _versions(client, subject)
    latest = client.version(subject) if active or not deleted else None
    mode = client.mode(subject, default_to_global=True)
    return {
        "subject": subject,
        "versions": list(active),
        "deletedVersions": list(deleted),
        "latest": latest and _described(latest),
        "referencedBy": list(client.referenced_by(subject)) if latest else [],
        "compatibility": _level(client, subject),
        "mode": mode and mode.value,
    }


def _level(client: Registry, subject: str) -> str | None:
    """Return the level in effect; None where the registry has none."""
    from counterfoil.schema.errors import ConfigNotFound

    try:
        level = client.config(subject, default_to_global=True).compatibility_level
    except ConfigNotFound:
        return None
    return level and level.value


def _described(registered: RegisteredSchema) -> dict[str, Any]:
    from counterfoil.schema.rest.schemas import reference_documents

    schema = registered.schema
    facts = {
        "version": registered.version,
        "id": registered.id,
        "guid": registered.guid and str(registered.guid),
        "schemaType": schema.schema_type.value,
        "references": reference_documents(schema.references),
    }
    return {key: value for key, value in facts.items() if value}


def _references(latest: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = latest.get("references", [])
    return found


def _counted(versions: tuple[int, ...]) -> str:
    return f"version{'s' if len(versions) != 1 else ''} {ranges(versions)}"
