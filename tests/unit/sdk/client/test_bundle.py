"""Bundles: serializers work from one as from the registry, and a file that was changed is refused."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from counterfoil.schema.errors import OperationNotPermitted, SchemaNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.model import Metadata, Reference, Schema, SchemaType
from counterfoil.schema.rest.versions import Deletion
from counterfoil.sdk import AsyncRegistry, AvroDeserializer, AvroSerializer, DamagedBundle, Registry, UnknownSchemaId
from counterfoil.sdk.client.bundle import read_bundle, write_bundle
from counterfoil.sdk.commands.bundle import make_bundle
from counterfoil.sdk.serde import SerializationContext
from counterfoil.sdk.testing import InMemoryRegistry

MONEY = Schema('{"type":"record","name":"shop.Money","fields":[{"name":"cents","type":"long"}]}')
ORDER = Schema(
    '{"type":"record","name":"shop.Order","fields":[{"name":"total","type":"shop.Money"}]}',
    references=(Reference("shop.Money", "shop.Money", 1),),
)
VALUE = SerializationContext("orders", "value")


@pytest.fixture
def registry():
    """A registry with two versions of a subject, one soft-deleted subject, and a schema of another language."""
    with InMemoryRegistry().client() as client:
        client.register("shop.Money", MONEY)
        client.register("orders-value", ORDER)
        newer = ORDER.text.replace('"fields":[', '"fields":[{"name":"id","type":"string","default":""},')
        client.register("orders-value", Schema(newer, references=ORDER.references))
        client.register("old-value", Schema('"string"', metadata=Metadata(properties={"owner": "me"})))
        client.delete_subject("old-value")
        client.register("card-value", Schema('syntax = "proto3"; message Card {}', SchemaType.PROTOBUF))
        yield client


@pytest.fixture
def file(registry, tmp_path):
    """The bundle of all subjects."""
    path = tmp_path / "schemas.json.gz"
    subjects = ["shop.Money", "orders-value", "old-value", "card-value"]
    write_bundle(make_bundle(registry, subjects, origin="http://r"), path)
    return path


def test_serializers_work_from_a_bundle_as_from_the_registry(registry, file):
    value = {"total": {"cents": 7}}
    with Registry.from_bundle(file) as bundle:
        written = AvroSerializer(bundle, ORDER)(value, VALUE)
        assert written == AvroSerializer(registry, ORDER)(value, VALUE)
        assert AvroSerializer(bundle, register="latest")({"id": "a", **value}, VALUE) == AvroSerializer(
            registry, register="latest"
        )({"id": "a", **value}, VALUE)
        assert AvroDeserializer(bundle)(written, VALUE) == value
        with pytest.raises(UnknownSchemaId):
            AvroDeserializer(bundle)(b"\0\0\0\1\0x", VALUE)


def test_a_bundle_answers_as_the_registry(registry, file):
    with Registry.from_bundle(file) as bundle:
        assert bundle.subjects() == registry.subjects()
        assert bundle.subjects(prefix="or") == ("orders-value",)
        for subject in registry.subjects():
            assert bundle.versions(subject) == registry.versions(subject)
            for number in (*registry.versions(subject), "latest"):
                known = registry.version(subject, number)
                assert bundle.version(subject, number) == known
                assert bundle.schema_by_id(known.id) == registry.schema_by_id(known.id)
                assert bundle.schema_by_guid(known.guid) == registry.schema_by_guid(known.guid)
        deleted = registry.lookup("shop.Money", MONEY).id + 3
        assert bundle.schema_by_id(deleted).text == '"string"'
        spaced = Schema(json.dumps(json.loads(ORDER.text), indent=3), references=ORDER.references)
        assert bundle.lookup("orders-value", spaced).version == 1
        assert bundle.register("orders-value", spaced).id == registry.lookup("orders-value", spaced).id


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda bundle: bundle.schema_by_id(999), SchemaNotFound),
        (lambda bundle: bundle.versions("nobody"), SubjectNotFound),
        (lambda bundle: bundle.versions("old-value"), SubjectNotFound),
        (lambda bundle: bundle.version("orders-value", 9), VersionNotFound),
        (lambda bundle: bundle.lookup("orders-value", MONEY), SchemaNotFound),
        (lambda bundle: bundle.register("orders-value", MONEY), OperationNotPermitted),
        (lambda bundle: bundle.config("orders-value"), OperationNotPermitted),
        (lambda bundle: bundle.delete_subject("orders-value", deletion=Deletion.PERMANENT), OperationNotPermitted),
    ],
)
def test_what_a_bundle_does_not_have_is_an_error_that_names_it(file, call, error):
    with Registry.from_bundle(file) as bundle, pytest.raises(error, match=r"[Bb]undle"):
        call(bundle)


def test_the_async_client_has_bundles_too(file):
    async def main():
        async with AsyncRegistry.from_bundle(file) as bundle:
            return await bundle.versions("orders-value")

    assert asyncio.run(main()) == (1, 2)


def test_only_what_was_named_and_what_it_refers_to_is_in_a_bundle(registry):
    made = make_bundle(registry, ["orders-value"], origin="http://r")
    assert [(version.subject, version.version) for version in made.versions] == [
        ("orders-value", 1),
        ("orders-value", 2),
        ("shop.Money", 1),
    ]
    with pytest.raises(SubjectNotFound):
        make_bundle(registry, ["nobody"], origin="http://r")


@pytest.mark.parametrize("change", [(b"cents", b"Cents"), (b'"version": 2', b'"version": 3'), (b'"id": 1', b'"id": 9')])
def test_a_changed_bundle_is_refused(file, tmp_path, change):
    text = gzip.decompress(file.read_bytes())
    changed = tmp_path / "changed.json"
    changed.write_bytes(text.replace(*change))
    assert changed.read_bytes() != text
    with pytest.raises(DamagedBundle, match="was changed after it was written"):
        Registry.from_bundle(changed)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"{}", b'{"format": "counterfoil-bundle", "version": 2}', b"[" * 9999]
)
def test_other_files_are_refused(tmp_path, data):
    (tmp_path / "some.json").write_bytes(data)
    (tmp_path / "some.json.gz").write_bytes(data)
    for name in ("some.json", "some.json.gz"):
        with pytest.raises(DamagedBundle, match="is not a bundle"):
            Registry.from_bundle(tmp_path / name)


def test_a_signature_is_checked(file, tmp_path):
    key = ed25519.Ed25519PrivateKey.generate()
    private, public, other = (tmp_path / name for name in ("key.pem", "public.pem", "other.pem"))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    stranger = ed25519.Ed25519PrivateKey.generate().public_key()
    other.write_bytes(stranger.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    signed = tmp_path / "signed.json"
    write_bundle(read_bundle(file), signed, key_file=private)
    assert Registry.from_bundle(signed, public_key_file=public).versions("orders-value") == (1, 2)
    with pytest.raises(DamagedBundle, match="not signed with the key"):
        Registry.from_bundle(signed, public_key_file=other)
    with pytest.raises(DamagedBundle, match="is not signed"):
        Registry.from_bundle(file, public_key_file=public)
    with pytest.raises(DamagedBundle, match="no public key"):
        Registry.from_bundle(signed, public_key_file=private)
    rsa_key = rsa.generate_private_key(65537, 2048)
    private.write_bytes(rsa_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(DamagedBundle, match="no Ed25519 key"):
        write_bundle(read_bundle(file), signed, key_file=private)


def test_an_interrupted_writer_leaves_the_old_file(file, tmp_path):
    before = file.read_bytes()
    with pytest.raises(DamagedBundle):
        write_bundle(read_bundle(file), file, key_file=tmp_path / "schemas.json.gz")
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [file.name]
