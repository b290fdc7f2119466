"""``counterfoil subjects``, ``config`` and ``mode``: the contents of a registry, and its settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.sdk.commands import as_json, confirmed, place_of, print_json, print_rows, ranges
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, registry_options

if TYPE_CHECKING:
    from counterfoil.schema.rest.subjects import Config, Mode
    from counterfoil.schema.rest.versions import RegisteredSchema
    from counterfoil.sdk.client import Registry


# ``counterfoil subjects``: the subjects of a registry.

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


def _facts(client: Registry, subject: str) -> JsonObject:
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


def _described(registered: RegisteredSchema) -> JsonObject:
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


def _references(latest: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = latest.get("references", [])
    return found


def _counted(versions: tuple[int, ...]) -> str:
    return f"version{'s' if len(versions) != 1 else ''} {ranges(versions)}"


# ``counterfoil config``: compatibility levels and the other settings of a registry, a context or a subject.


@click.group()
def config() -> None:
    """Show and change compatibility levels and the other settings of a registry, a context or a subject."""


@config.command(name="get")
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@click.option("--own", is_flag=True, help="Only what is set here, not what is inherited.")
@as_json
def get_config(subject: str | None, registry: RegistryAccess, own: bool, as_json: bool) -> None:
    """Print the settings in effect for SUBJECT, for a context (:.NAME:), or for the registry.

    Exit codes: 0 printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 nothing is set (with --own).
    """
    with registry.open() as client:
        _print_config(client.config(subject, default_to_global=not own), as_json=as_json)


@config.command(name="set")
@click.argument("changes", metavar="KEY=VALUE...", nargs=-1, required=True)
@click.option("--subject", metavar="SUBJECT", help="The subject, or a context (:.NAME:). Default: the whole registry.")
@registry_options(THE_REGISTRY)
@as_json
def set_config(
    changes: tuple[str, ...],
    subject: str | None,
    registry: RegistryAccess,
    as_json: bool,
) -> None:
    """Change settings, such as `compatibility=FULL` or `normalize=true`; all others stay as they are.

    The keys are those of the REST API. `KEY=` unsets a key, and `KEY=@FILE` reads its JSON value from a file
    (defaultMetadata, overrideMetadata, defaultRuleSet, overrideRuleSet).

    Exit codes: 0 changed, 2 usage, 11 registry unreachable, 12 registry refused, 14 not permitted, or no such file.
    """
    change, clear = _read_changes(changes)
    with registry.open() as client:
        _print_config(client.set_config(subject, change, clear=clear), as_json=as_json)


@config.command(name="delete")
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@confirmed
@as_json
def delete_config(subject: str | None, registry: RegistryAccess, is_confirmed: bool, as_json: bool) -> None:
    """Delete the settings of SUBJECT, of a context, or of the registry, so that the inherited ones apply again.

    Without --yes only print what would be deleted.

    Exit codes: 0 deleted or printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 nothing is set.
    """
    with registry.open() as client:
        found = client.delete_config(subject) if is_confirmed else client.config(subject)
    if not as_json:
        click.echo(f"{'Deleted' if is_confirmed else 'Would delete'} the settings of {place_of(subject)}:")
    _print_config(found, as_json=as_json)
    if not is_confirmed and not as_json:
        click.echo("Nothing was deleted. Add --yes to delete.")


def _print_config(found: Config, *, as_json: bool) -> None:
    from counterfoil.schema.rest.subjects import config_document

    document = config_document(found)
    if as_json:
        print_json(document)
        return
    print_rows((key, value if isinstance(value, str) else json.dumps(value)) for key, value in document.items())


def _read_changes(changes: tuple[str, ...]) -> tuple[Config, list[str]]:
    """Return the settings to set, and the names of the fields to unset; an unknown key is a ``UsageError``."""
    from counterfoil.schema.compatibility import CompatibilityPolicy, RegistrationPolicy
    from counterfoil.schema.errors import RegistryError
    from counterfoil.schema.rest.object_forms import RequestJson, unknown_members
    from counterfoil.schema.rest.subjects import CONFIG, CONFIG_KEYS, unread_settings

    name_by_key = {key: name for name, key in CONFIG_KEYS.items()}
    document: JsonObject = {}
    clear: list[str] = []
    for change in changes:
        key, separator, value = change.partition("=")
        if not separator or key not in name_by_key:
            raise click.UsageError(f"{change!r} is not KEY=VALUE with one of the keys {', '.join(name_by_key)}")
        if value:
            document[key] = _file_content(key, value[1:]) if value.startswith("@") else value
        else:
            clear.append(name_by_key[key])
    if unknown := list(unknown_members(document, CONFIG)):
        raise click.UsageError(f"{', '.join(unknown)}: there is no such member; it would be ignored")
    try:
        read = CONFIG.read_fields(RequestJson(document, root="The settings"))
    except RegistryError as error:
        raise click.UsageError(str(error)) from error
    if unread := unread_settings(document, read):
        key = unread[0]
        known = ", ".join((*CompatibilityPolicy, *RegistrationPolicy))
        raise click.UsageError(f"{key}: {document[key]!r} is not known; expected one of {known}")
    return CONFIG.kind(**read), clear


def _file_content(key: str, path: str) -> Json:
    try:
        return json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise click.UsageError(f"{key}: {path} is not JSON: {error}") from error


# ``counterfoil mode``: which operations a registry, a context or a subject permits.

_MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD")


@click.group()
def mode() -> None:
    """Show and change which operations a registry, a context or a subject permits."""


@mode.command(name="get")
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@click.option("--own", is_flag=True, help="Only what is set here, not what is inherited.")
@as_json
def get_mode(subject: str | None, registry: RegistryAccess, own: bool, as_json: bool) -> None:
    """Print the mode in effect for SUBJECT, for a context (:.NAME:), or for the registry.

    Exit codes: 0 printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 no mode is set (with --own).
    """
    with registry.open() as client:
        _print_mode(client.mode(subject, default_to_global=not own), as_json=as_json)


@mode.command(name="set")
@click.argument("new", metavar="MODE", type=click.Choice(_MODES, case_sensitive=False))
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@click.option("--all", "is_for_all", is_flag=True, help="Without SUBJECT: set the mode of the whole registry.")
@click.option("--force", is_flag=True, help="Permit IMPORT where versions exist.")
@as_json
def set_mode(
    new: str,
    subject: str | None,
    registry: RegistryAccess,
    is_for_all: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Set the MODE of SUBJECT, of a context (:.NAME:), or with --all of the registry.

    Exit codes: 0 set, 2 usage, 11 registry unreachable, 12 registry refused, 14 not permitted.
    """
    if (subject is None) is not is_for_all:
        raise click.UsageError("name a SUBJECT or a context (:.NAME:), or give --all for the whole registry")
    with registry.open() as client:
        _print_mode(client.set_mode(subject, new.upper(), force=force), as_json=as_json)


@mode.command(name="delete")
@click.argument("subject", required=False)
@registry_options(THE_REGISTRY)
@click.option("--recursive", is_flag=True, help="Also unset the modes of the context's subjects.")
@as_json
def delete_mode(subject: str | None, registry: RegistryAccess, recursive: bool, as_json: bool) -> None:
    """Unset the mode of SUBJECT, of a context, or of the registry, so that the inherited one applies again.

    Exit codes: 0 unset, 2 usage, 11 registry unreachable, 12 registry refused, 14 no mode was set.
    """
    with registry.open() as client:
        earlier = client.delete_mode(subject, recursive=recursive)
    if as_json:
        _print_mode(earlier, as_json=True)
    else:
        click.echo(f"The mode of {place_of(subject)} was {earlier.value if earlier else 'not set'} and is unset now.")


def _print_mode(found: Mode | None, *, as_json: bool) -> None:
    if as_json:
        print_json({"mode": found and found.value})
    else:
        click.echo(found.value if found else "")
