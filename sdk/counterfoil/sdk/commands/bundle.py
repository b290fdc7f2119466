"""``counterfoil bundle``: the schemas of a registry in one file, with everything that they refer to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

import click

from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk.client import Registry
from counterfoil.sdk.client.bundle import Bundle, BundledVersion
from counterfoil.sdk.commands import as_json, print_json, require_file
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, registry_options

# ``counterfoil bundle``: the schemas of a registry in one file, for programs without a registry.


@click.command()
@click.argument("file", type=click.Path(dir_okay=False), callback=require_file)
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@registry_options(THE_REGISTRY)
@click.option("--prefix", metavar="TEXT", help="Also all subjects whose names begin with this.")
@click.option(
    "--sign-key",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Sign the bundle with this Ed25519 private key (PEM).",
)
@as_json
def bundle(
    file: str,
    subjects: tuple[str, ...],
    registry: RegistryAccess,
    prefix: str | None,
    sign_key: str | None,
    as_json: bool,
) -> None:
    """Write the versions of the SUBJECTs, and what they refer to, to FILE; without any, of all subjects.

    Serializers and deserializers then work without a registry: `Registry.from_bundle("schemas.json.gz")`. A name that
    ends in .gz is compressed. Soft-deleted versions are included, since records may have their ids.

    Exit codes: 0 written, 2 usage, 11 registry unreachable, 12 registry refused, 14 there is no such subject, or a file
    cannot be used.
    """
    from counterfoil.schema.rest.versions import Visibility
    from counterfoil.sdk.client.bundle import write_bundle

    with registry.open() as client:
        names = set(subjects)
        if prefix is not None or not subjects:
            names.update(client.subjects(prefix=prefix, visibility=Visibility.WITH_DELETED))
        made = make_bundle(client, sorted(names), origin=client.settings.urls[0])
    checksum = write_bundle(made, file, key_file=sign_key)
    count = len({version.subject for version in made.versions})
    facts = {"file": file, "subjects": count, "versions": len(made.versions), "sha256": checksum}
    if as_json:
        print_json({**facts, "signed": sign_key is not None})
    else:
        click.echo(f"{file}: {len(made.versions)} versions of {count} subjects, SHA-256 {checksum}")


# Making a bundle of a registry's subjects, with everything that their schemas refer to.


def make_bundle(registry: Registry, subjects: Iterable[str], *, origin: str) -> Bundle:
    """Return the bundle of all versions of the subjects.

    Soft-deleted versions are included, since records may have their ids, and so is what the schemas refer to. Raises
    the errors of the client, ``SubjectNotFound`` for an unknown subject.
    """
    found: dict[tuple[str, int], BundledVersion] = {}
    for subject in subjects:
        for number in registry.versions(subject, visibility=Visibility.WITH_DELETED):
            _collect(registry, subject, number, found)
    active = _active_versions(registry, {subject for subject, _ in found})
    versions = tuple(
        version if key in active else replace(version, is_deleted=True) for key, version in sorted(found.items())
    )
    return Bundle(origin, datetime.now(UTC).isoformat(timespec="seconds"), versions)


def _collect(registry: Registry, subject: str, number: int, found: dict[tuple[str, int], BundledVersion]) -> None:
    if (subject, number) in found:
        return
    held = registry.version(subject, number, visibility=Visibility.WITH_DELETED)
    schema = held.schema
    guid = held.guid or content_guid(schema.text, schema.references, schema.metadata, schema.rule_set)
    found[subject, number] = BundledVersion(subject, number, held.id, guid, schema)
    for reference in schema.references:
        _collect(registry, reference.subject, reference.version, found)


def _active_versions(registry: Registry, subjects: Iterable[str]) -> set[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    for subject in subjects:
        try:
            found.update((subject, number) for number in registry.versions(subject))
        except SubjectNotFound:
            continue  # all of its versions are soft-deleted
    return found
