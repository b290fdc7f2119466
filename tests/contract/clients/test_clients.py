"""One suite over both clients and every registry that they can use: in this process, and over the network.

Subjects are in a context of their own for each test, so that ids count from 1 and a shared registry does no harm.
"""

from __future__ import annotations

import asyncio
import uuid

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityLevel
from counterfoil.schema.errors import (
    ConfigNotFound,
    ContextNotEmpty,
    IncompatibleSchema,
    InvalidMode,
    InvalidSchema,
    InvalidSubject,
    InvalidVersion,
    ModeNotFound,
    OperationNotPermitted,
    ReferenceExists,
    SchemaNotFound,
    SubjectNotFound,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    VersionNotFound,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Metadata, Reference, Schema
from counterfoil.sdk import AsyncRegistry, Config, ContextId, Deletion, Mode, Registry, SubjectVersion, Visibility
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.testing.registries import URL


def record(*fields, name="Order"):
    """An Avro record whose fields are all ``long``, or given whole as JSON text."""
    texts = (field if field.startswith("{") else f'{{"name":"{field}","type":"long"}}' for field in fields)
    return Schema(f'{{"type":"record","name":"{name}","namespace":"shop","fields":[{",".join(texts)}]}}')


A = record("id")
B = record("id", '{"name":"note","type":"string","default":""}')
C = record("id", '{"name":"note","type":"string","default":""}', '{"name":"tip","type":"long","default":0}')
X = record('{"name":"id","type":"string"}')
ITEM = record("sku", name="Item")
INLINED = (
    '{"name":"item","type":{"type":"record","name":"Item","namespace":"shop","fields":[{"name":"sku","type":"long"}]}}'
)


class Blocking:
    """An ``AsyncRegistry`` whose calls block, so that one suite reads the same for both clients."""

    def __init__(self, registry, runner):
        self._registry = registry
        self._runner = runner

    def __getattr__(self, name):
        method = getattr(self._registry, name)

        def call(*args, **kwargs):
            found = method(*args, **kwargs)
            return self._runner.run(found) if asyncio.iscoroutine(found) else found

        return call


def in_memory(request):
    _ = request
    return URL, {"transport": InMemoryRegistry()}


def live(request):
    return request.getfixturevalue("live_registry").url, {}


@pytest.fixture(params=[in_memory, live], ids=lambda place: place.__name__)
def address(request):
    """A registry's base URL and the options that its client needs."""
    return request.param(request)


@pytest.fixture
def context():
    return f".t{uuid.uuid4().hex[:10]}"


@pytest.fixture(params=["sync", "async"])
def registry(request, address, context):
    """A client that is rooted at a context of its own."""
    url, options = address
    url = f"{url}/contexts/{context}"
    if request.param == "sync":
        with Registry(url, **options) as client:
            yield client
        return
    with asyncio.Runner() as runner:
        client = Blocking(AsyncRegistry(url, **options), runner)
        yield client
        client.close()


# --- registering and finding ---------------------------------------------------------------------------------------


def test_a_registration_tells_version_id_and_guid(registry):
    first = registry.register("orders", A)
    assert (first.version, first.id, first.schema) == (1, 1, A)
    assert first.guid == content_guid(A.text)
    second = registry.register("orders", B)
    assert (second.version, second.id) == (2, 2)


def test_the_same_content_has_one_id_and_one_version(registry):
    registry.register("orders", A)
    registry.clear_cache()
    again = registry.register("orders", Schema(A.text.replace(",", " ,\n ")))
    assert (again.version, again.id) == (1, 1)
    assert registry.register("other", A).id == 1
    assert registry.subjects_of_id(1) == tuple(sorted(registry.subjects()))
    assert [use.version for use in registry.versions_of_id(1)] == [1, 1]


def test_what_is_stored_is_the_canonical_text(registry):
    registry.register("s", Schema('{  "type" : "string" }'))
    assert registry.version("s").schema.text == '"string"'
    assert registry.schema_text("s", 1) == '"string"'
    assert registry.schema_by_id(1).text == '"string"'
    assert registry.schema_text_by_id(1) == '"string"'


def test_normalizing_finds_what_differs_in_spelling_alone(registry):
    text = '{"type":"record","name":"shop.Order","fields":[{"type":"long","name":"id"}]}'
    first = registry.register("s", Schema(text), normalize=True)
    assert first.schema.text == A.text
    assert registry.lookup("s", Schema(text), normalize=True).version == 1


def test_a_lookup_finds_the_version(registry):
    registry.register("orders", A)
    registry.register("orders", B)
    registry.clear_cache()
    found = registry.lookup("orders", A)
    assert (found.version, found.id) == (1, 1)
    assert found.subject.endswith("orders")


def test_a_lookup_tells_an_unknown_subject_from_an_unknown_schema(registry):
    with pytest.raises(SubjectNotFound):
        registry.lookup("orders", A)
    registry.register("orders", A)
    with pytest.raises(SchemaNotFound):
        registry.lookup("orders", B)


def test_versions_by_number_and_by_name(registry):
    registry.register("orders", A)
    registry.register("orders", B)
    assert registry.versions("orders") == (1, 2)
    assert registry.version("orders", 1).schema == A
    assert registry.version("orders", "latest") == registry.version("orders") == registry.version("orders", 2)


@pytest.mark.parametrize(
    ("number", "kind"), [(0, InvalidVersion), (-2, InvalidVersion), ("abc", InvalidVersion), (9, VersionNotFound)]
)
def test_a_version_that_is_none(registry, number, kind):
    registry.register("orders", A)
    with pytest.raises(kind):
        registry.version("orders", number)


def test_unknown_names_and_numbers(registry):
    for call in (registry.version, registry.versions, registry.delete_subject):
        with pytest.raises(SubjectNotFound):
            call("nobody")
    for call in (registry.schema_by_id, registry.schema_text_by_id, registry.subjects_of_id):
        with pytest.raises(SchemaNotFound):
            call(77)
    with pytest.raises(SchemaNotFound):
        registry.schema_by_guid("00000000-0000-0000-0000-000000000000")
    assert registry.ids_of_guid("00000000-0000-0000-0000-000000000000") == ()


def test_a_guid_finds_schema_and_ids(registry, context):
    text = A.text.replace("shop", f"shop_{uuid.uuid4().hex}")
    guid = registry.register("orders", Schema(text)).guid
    assert registry.schema_by_guid(guid).text == text
    assert registry.ids_of_guid(guid) == (ContextId(context, 1),)


@pytest.mark.parametrize(
    "name", ["a/b", "a%2Fb", "with space", "q?x=1&y#z", "ström", "plus+", ":colon", "subjects", "..", ".", "~-_", "\"'"]
)
def test_any_name_is_a_subject(registry, context, name):
    found = registry.register(name, A)
    assert registry.version(name).schema == A
    assert registry.subjects() == (f":{context}:{name}",)
    assert registry.versions_of_id(found.id) == (SubjectVersion(f":{context}:{name}", 1),)
    assert registry.delete_subject(name) == (1,)


@pytest.mark.parametrize("name", ["a\x85b", "__GLOBAL", "__EMPTY"])
def test_some_names_are_none(registry, name):
    with pytest.raises(InvalidSubject):
        registry.register(name, A)


def test_subjects_are_listed_by_prefix(registry, context):
    for name in ("a-1", "a-2", "b"):
        registry.register(name, A)
    assert registry.subjects(prefix="a") == (f":{context}:a-1", f":{context}:a-2")
    assert registry.subjects(prefix="c") == ()


@pytest.mark.parametrize("text", ["", "{", '{"type":"record"}', '{"type":"unknown"}', "null x"])
def test_what_is_no_schema_is_refused(registry, text):
    with pytest.raises(InvalidSchema):
        registry.register("s", Schema(text))


def test_metadata_is_part_of_the_content(registry):
    registry.set_config("s", CompatibilityLevel.NONE)
    with_owner = Schema(A.text, metadata=Metadata({"**.id": ("PII", "KEY")}, {"owner": "me", "k": "v"}, ("owner",)))
    first, second = registry.register("s", A), registry.register("s", with_owner)
    assert (first.id, second.id, second.version) == (1, 2, 2)
    held = registry.version("s").schema.metadata
    assert held == Metadata({"**.id": ("KEY", "PII")}, {"k": "v", "owner": "me"}, ("owner",))
    assert registry.version_with_metadata("s", {"owner": "me"}).version == 2
    with pytest.raises(SchemaNotFound):
        registry.version_with_metadata("s", {"owner": "you"})


def test_a_new_version_takes_over_the_metadata_that_it_leaves_out(registry):
    registry.register("s", Schema(A.text, metadata=Metadata(properties={"owner": "me"})))
    assert registry.register("s", B).version == 2
    assert registry.version("s").schema.metadata == Metadata(properties={"owner": "me"})
    registry.clear_cache()
    assert registry.lookup("s", B).version == 2


# --- references ----------------------------------------------------------------------------------------------------

ORDER = Schema(record('{"name":"item","type":"shop.Item"}').text, references=(Reference("shop.Item", "items", 1),))


def test_a_reference_is_resolved_and_kept(registry):
    registry.register("items", ITEM)
    registry.register("orders", ORDER)
    held = registry.version("orders").schema
    assert held.references == (Reference("shop.Item", "items", 1),)
    assert "sku" not in held.text
    assert registry.referenced_by("items", 1) == (2,)


def test_a_reference_to_the_latest_gets_its_number(registry):
    registry.register("items", ITEM)
    registry.register("orders", Schema(ORDER.text, references=(Reference("shop.Item", "items", -1),)))
    assert registry.version("orders").schema.references == (Reference("shop.Item", "items", 1),)


def test_a_schema_with_the_reference_inlined_is_found(registry):
    registry.register("items", ITEM)
    found = registry.register("orders", ORDER)
    assert registry.lookup("orders", record(INLINED)).version == found.version


@pytest.mark.parametrize("reference", [Reference("shop.Item", "nobody", 1), Reference("shop.Item", "items", 9)])
def test_a_reference_into_nothing_is_refused(registry, reference):
    registry.register("items", ITEM)
    with pytest.raises(InvalidSchema):
        registry.register("orders", Schema(ORDER.text, references=(reference,)))


def test_what_is_referred_to_stays(registry):
    registry.register("items", ITEM)
    registry.register("orders", ORDER)
    with pytest.raises(ReferenceExists, match=r"Version 1 of subject '.*items' is referenced by version 1 .*orders'"):
        registry.delete_version("items", 1)
    with pytest.raises(ReferenceExists):
        registry.delete_subject("items")
    registry.delete_subject("orders")
    assert registry.referenced_by("items", 1) == ()
    assert registry.referenced_by("items", 1, visibility=Visibility.WITH_DELETED) == (2,)
    assert registry.delete_version("items", 1) == 1
    with pytest.raises(ReferenceExists):
        registry.delete_version("items", 1, deletion=Deletion.PERMANENT)
    registry.delete_subject("orders", deletion=Deletion.PERMANENT)
    assert registry.delete_version("items", 1, deletion=Deletion.PERMANENT) == 1


def test_a_new_schema_may_not_refer_to_what_is_deleted(registry):
    registry.register("items", ITEM)
    registry.delete_subject("items")
    with pytest.raises(InvalidSchema):
        registry.register("orders", ORDER)


# --- compatibility -------------------------------------------------------------------------------------------------


def test_an_incompatible_schema_is_a_verdict_on_request_and_an_error_when_registered(registry):
    registry.register("orders", A)
    verdict = registry.check_compatibility("orders", X)
    assert not verdict.is_compatible
    text = "\n".join(verdict.messages)
    for word in ("errorType:'TYPE_MISMATCH'", "oldSchemaVersion: 1", "oldSchema:", "compatibility: 'BACKWARD'"):
        assert word in text
    with pytest.raises(IncompatibleSchema, match="TYPE_MISMATCH") as caught:
        registry.register("orders", X)
    assert caught.value.status == 409
    assert registry.versions("orders") == (1,)


def test_a_compatible_schema(registry):
    registry.register("orders", A)
    for version in (None, 1, "latest"):
        verdict = registry.check_compatibility("orders", B, version=version)
        assert (verdict.is_compatible, verdict.messages) == (True, ())


def test_a_short_verdict_has_no_messages(registry):
    registry.register("orders", A)
    verdict = registry.check_compatibility("orders", X, verbose=False)
    assert (verdict.is_compatible, verdict.messages) == (False, ())


def test_a_subject_that_does_not_exist_allows_everything(registry):
    assert registry.check_compatibility("orders", A).is_compatible
    assert registry.check_compatibility("orders", A, version="latest").is_compatible
    with pytest.raises(VersionNotFound):
        registry.check_compatibility("orders", A, version=1)


def test_a_schema_that_cannot_be_read_is_a_verdict_or_an_error(registry):
    registry.register("orders", A)
    verdict = registry.check_compatibility("orders", Schema("{"))
    assert not verdict.is_compatible
    assert len(verdict.messages) == 1
    with pytest.raises(InvalidSchema):
        registry.check_compatibility("orders", Schema("{"), verbose=False)


def test_a_transitive_level_looks_at_all_versions(registry):
    two, one, other = record("f1", "f2"), record("f1"), record("f1", "f3")
    registry.register("s", two)
    registry.set_config("s", CompatibilityLevel.BACKWARD)
    registry.register("s", one)
    registry.set_config("s", CompatibilityLevel.FORWARD_TRANSITIVE)
    assert registry.check_compatibility("s", other, version="latest").is_compatible
    assert not registry.check_compatibility("s", other).is_compatible
    with pytest.raises(IncompatibleSchema):
        registry.register("s", other)


def test_what_is_there_is_found_whatever_the_level_says_today(registry):
    registry.set_config("s", CompatibilityLevel.NONE)
    registry.register("s", A)
    registry.register("s", X)
    registry.set_config("s", CompatibilityLevel.FULL)
    registry.clear_cache()
    assert registry.register("s", A).version == 1


# --- deletion ------------------------------------------------------------------------------------------------------


def test_a_version_is_deleted_in_two_steps(registry):
    registry.register("s", A)
    registry.register("s", B)
    with pytest.raises(VersionNotSoftDeleted):
        registry.delete_version("s", 2, deletion=Deletion.PERMANENT)
    assert registry.delete_version("s", 2) == 2
    with pytest.raises(VersionSoftDeleted):
        registry.delete_version("s", 2)
    with pytest.raises(VersionNotFound):
        registry.version("s", 2)
    assert registry.version("s", 2, visibility=Visibility.WITH_DELETED).schema == B
    assert registry.version("s", "latest").version == 1
    assert registry.schema_by_id(2) == B
    assert registry.delete_version("s", 2, deletion=Deletion.PERMANENT) == 2
    with pytest.raises(VersionNotFound):
        registry.delete_version("s", 2, deletion=Deletion.PERMANENT)
    registry.clear_cache()
    with pytest.raises(SchemaNotFound):
        registry.schema_by_id(2)


def test_a_subject_is_deleted_in_two_steps(registry, context):
    registry.register("s", A)
    registry.register("s", B)
    with pytest.raises(SubjectNotSoftDeleted):
        registry.delete_subject("s", deletion=Deletion.PERMANENT)
    assert registry.delete_subject("s") == (1, 2)
    with pytest.raises(SubjectSoftDeleted):
        registry.delete_subject("s")
    assert registry.subjects() == ()
    assert registry.subjects(visibility=Visibility.WITH_DELETED) == (f":{context}:s",)
    assert registry.subjects(visibility=Visibility.DELETED_ONLY) == (f":{context}:s",)
    assert registry.versions("s", visibility=Visibility.WITH_DELETED) == (1, 2)
    assert registry.delete_subject("s", deletion=Deletion.PERMANENT) == (1, 2)
    assert registry.subjects(visibility=Visibility.WITH_DELETED) == ()
    with pytest.raises(SubjectNotFound):
        registry.delete_subject("s")


def test_deleted_content_comes_back_with_its_id_and_a_new_version(registry):
    registry.register("s", A)
    registry.delete_subject("s")
    again = registry.register("s", A)
    assert (again.version, again.id) == (2, 1)
    assert registry.versions("s", visibility=Visibility.WITH_DELETED) == (2,)


def test_an_id_is_never_given_twice(registry):
    registry.register("s", A)
    registry.delete_subject("s")
    registry.delete_subject("s", deletion=Deletion.PERMANENT)
    assert registry.register("s", A).id == 2


def test_a_lookup_among_the_deleted(registry):
    registry.register("s", A)
    registry.delete_subject("s")
    with pytest.raises(SubjectNotFound):
        registry.lookup("s", A)
    assert registry.lookup("s", A, visibility=Visibility.WITH_DELETED).version == 1


def test_uses_of_an_id_with_and_without_the_deleted(registry, context):
    registry.register("s", A)
    registry.delete_subject("s")
    assert registry.subjects_of_id(1) == ()
    assert registry.subjects_of_id(1, visibility=Visibility.WITH_DELETED) == (f":{context}:s",)
    assert registry.versions_of_id(1, visibility=Visibility.WITH_DELETED) == (SubjectVersion(f":{context}:s", 1),)


# --- config and mode -----------------------------------------------------------------------------------------------


def test_the_config_of_a_subject(registry):
    with pytest.raises(ConfigNotFound):
        registry.config("s")
    assert registry.config("s", default_to_global=True).compatibility_level is CompatibilityLevel.BACKWARD
    assert registry.set_config("s", "full").compatibility_level is CompatibilityLevel.FULL
    assert registry.set_config("s", Config(normalize=True)).compatibility_level is CompatibilityLevel.FULL
    assert registry.config("s") == Config(compatibility_level=CompatibilityLevel.FULL, normalize=True)
    assert registry.set_config("s", Config(), clear=["normalize"]).normalize is None
    assert registry.delete_config("s").compatibility_level is CompatibilityLevel.FULL
    with pytest.raises(SubjectNotFound):
        registry.delete_config("s")


def test_the_config_of_a_context_applies_to_its_subjects(registry):
    registry.set_config(None, CompatibilityLevel.NONE)
    registry.register("s", A)
    assert registry.register("s", X).version == 2
    assert registry.config("s", default_to_global=True).compatibility_level is CompatibilityLevel.NONE


def test_a_config_that_normalizes(registry):
    registry.set_config("s", Config(normalize=True))
    found = registry.register(
        "s", Schema('{"type":"record","name":"shop.Order","fields":[{"type":"long","name":"id"}]}')
    )
    assert found.schema.text == A.text


def test_the_mode_of_a_subject(registry):
    with pytest.raises(ModeNotFound):
        registry.mode("s")
    assert registry.mode("s", default_to_global=True) is Mode.READWRITE
    assert registry.set_mode("s", Mode.READONLY) is Mode.READONLY
    assert registry.mode("s") is Mode.READONLY
    assert registry.delete_mode("s") is Mode.READONLY
    with pytest.raises(SubjectNotFound):
        registry.delete_mode("s")


@pytest.mark.parametrize("mode", ["UPSIDE", Mode.FORWARD])
def test_a_mode_that_a_subject_cannot_have(registry, mode):
    with pytest.raises(InvalidMode):
        registry.set_mode("s", mode)


def test_a_read_only_subject_keeps_what_it_has(registry):
    registry.register("s", A)
    registry.set_mode("s", Mode.READONLY)
    registry.clear_cache()
    assert registry.register("s", A).version == 1
    for call in (
        lambda: registry.register("s", B),
        lambda: registry.delete_version("s", 1),
        lambda: registry.delete_subject("s"),
        lambda: registry.set_config("s", "NONE"),
    ):
        with pytest.raises(OperationNotPermitted):
            call()
    assert registry.set_mode("s", None) is None
    assert registry.register("s", B).version == 2


def test_import_mode_wants_an_empty_subject(registry):
    registry.register("s", A)
    with pytest.raises(OperationNotPermitted):
        registry.set_mode("s", Mode.IMPORT)
    assert registry.set_mode("s", Mode.IMPORT, force=True) is Mode.IMPORT
    with pytest.raises(OperationNotPermitted):
        registry.register("s", B)


def test_the_modes_of_a_context_are_unset_together(registry):
    registry.set_mode("s", Mode.READONLY)
    registry.set_mode(None, Mode.READONLY)
    assert registry.delete_mode(None, recursive=True) is Mode.READONLY
    assert registry.delete_mode(None, recursive=True) is None
    with pytest.raises(ModeNotFound):
        registry.mode("s")


# --- the registry itself -------------------------------------------------------------------------------------------


def test_the_registry_says_what_it_is(registry):
    assert registry.ping() is None
    assert "AVRO" in registry.schema_types()


def test_a_context_is_there_from_its_first_registration(registry, context):
    assert context not in registry.contexts()
    registry.register("s", A)
    assert registry.contexts()[0] == "."
    assert context in registry.contexts()


def test_the_plain_and_the_qualified_name_are_one(address, context):
    url, options = address
    with Registry(url, **options) as client:
        client.register(f":{context}:s", A)
        with pytest.raises(ContextNotEmpty):
            client.delete_context(context)
        assert client.schema_by_id(1, subject=f":{context}:s") == A
        client.delete_subject(f":{context}:s")
        client.delete_subject(f":{context}:s", deletion=Deletion.PERMANENT)
        client.delete_context(context)
        assert context not in client.contexts()
