"""``counterfoil bundle``: the schemas of a registry in one file, for programs without a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.sdk.commands.output import as_json, print_json, require_file
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.sdk.registry_options import RegistryAccess


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
    from counterfoil.sdk.bundle.document import write_bundle
    from counterfoil.sdk.bundle.making import make_bundle

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
