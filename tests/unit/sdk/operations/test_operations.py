"""Every operation as a value: the request that it makes, and what it reads out of a reply."""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from types import FunctionType
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import (
    CounterfoilError,
    Forbidden,
    IncompatibleSchema,
    InvalidCompatibilityLevel,
    InvalidSubject,
    RegistryError,
    SubjectNotFound,
    Unauthorized,
)
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet, Schema, SchemaType
from counterfoil.schema.rest.json_values import ReplyJson, UnexpectedShapeError
from counterfoil.schema.rest.keys import Algorithm, DekId, Kek
from counterfoil.schema.rest.schemas import SCHEMA, schema_request
from counterfoil.schema.rest.subjects import Association, AssociationType, Config, Lifecycle, Mode, Resource
from counterfoil.schema.rest.versions import Compatibility, ContextId, Deletion, SubjectVersion, Visibility
from counterfoil.sdk import operations
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.operations import read_reply
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import Reply

TEXT = Schema('"string"')
ACTIVE, ALL, GONE = Visibility.ACTIVE, Visibility.WITH_DELETED, Visibility.DELETED_ONLY

ASSOCIATION = Association(
    parse_subject("s"),
    UUID(int=1),
    Resource("t", "n", "topic", "r"),
    AssociationType.VALUE,
    Lifecycle.WEAK,
    frozen=False,
    create_ts=1,
    update_ts=2,
)

DEK = DekId("k", parse_subject("s"), Algorithm.AES256_SIV, 2)

MADE: list[Any] = [
    (operations.ping(), "GET", "/schemas/types"),
    (operations.schema_types(), "GET", "/schemas/types"),
    (operations.contexts(), "GET", "/contexts"),
    (operations.delete_context("."), "DELETE", "/contexts/%2E"),
    (operations.schema_by_id(7, subject=None), "GET", "/schemas/ids/7"),
    (operations.schema_by_id(7, subject=":.c:a b"), "GET", "/schemas/ids/7?subject=%3A.c%3Aa%20b"),
    (operations.schema_text_by_id(7, subject=None), "GET", "/schemas/ids/7/schema"),
    (operations.subjects_of_id(7, subject=None, visibility=ALL), "GET", "/schemas/ids/7/subjects?deleted=true"),
    (operations.versions_of_id(7, subject=None, visibility=ACTIVE), "GET", "/schemas/ids/7/versions"),
    (operations.schema_by_guid("ab-cd"), "GET", "/schemas/guids/ab-cd"),
    (operations.ids_of_guid(UUID(int=1)), "GET", "/schemas/guids/00000000-0000-0000-0000-000000000001/ids"),
    (operations.subjects(prefix=None, visibility=ACTIVE), "GET", "/subjects"),
    (operations.subjects(prefix="", visibility=GONE), "GET", "/subjects?subjectPrefix=&deletedOnly=true"),
    (
        operations.lookup("a/b", TEXT, normalize=True, visibility=ALL),
        "POST",
        "/subjects/a%2Fb?normalize=true&deleted=true",
    ),
    (operations.register("a%b", TEXT, normalize=False), "POST", "/subjects/a%25b/versions"),
    (operations.schema_by_id(7, subject=None, with_max_id=True), "GET", "/schemas/ids/7?fetchMaxId=true"),
    (
        operations.page_of(operations.subjects(prefix=None, visibility=ALL), offset=20, limit=10),
        "GET",
        "/subjects?deleted=true&offset=20&limit=10",
    ),
    (
        operations.schemas(prefix=":*:", visibility=ALL, latest_only=True, aliases=True),
        "GET",
        "/schemas?subjectPrefix=%3A%2A%3A&latestOnly=true&aliases=true&deleted=true",
    ),
    (operations.keks(visibility=ALL), "GET", "/dek-registry/v1/keks?deleted=true"),
    (operations.kek("k", visibility=ACTIVE), "GET", "/dek-registry/v1/keks/k"),
    (operations.create_kek(Kek("k", "local-kms", "id")), "POST", "/dek-registry/v1/keks"),
    (operations.delete_kek("k"), "DELETE", "/dek-registry/v1/keks/k"),
    (operations.undelete_kek("k"), "POST", "/dek-registry/v1/keks/k/undelete"),
    (operations.dek_subjects("k", visibility=ACTIVE), "GET", "/dek-registry/v1/keks/k/deks"),
    (
        operations.dek_versions("k", "a/b", algorithm="AES256_SIV", visibility=ALL),
        "GET",
        "/dek-registry/v1/keks/k/deks/a%2Fb/versions?algorithm=AES256_SIV&deleted=true",
    ),
    (
        operations.dek("k", "s", 2, algorithm="AES256_SIV", visibility=ACTIVE),
        "GET",
        "/dek-registry/v1/keks/k/deks/s/versions/2?algorithm=AES256_SIV",
    ),
    (
        operations.create_dek(DEK, "AA=="),
        "POST",
        "/dek-registry/v1/keks/k/deks/s",
    ),
    (operations.create_dek(DEK, None, has_subject_in_path=False), "POST", "/dek-registry/v1/keks/k/deks"),
    (operations.kek("k", visibility=ALL, context=".c"), "GET", "/dek-registry/v1/keks/k?deleted=true&context=.c"),
    (
        operations.delete_dek("k", "s", 2, algorithm="AES256_SIV"),
        "DELETE",
        "/dek-registry/v1/keks/k/deks/s/versions/2?algorithm=AES256_SIV",
    ),
    (operations.associations(), "GET", "/associations/resources/-/-"),
    (
        operations.associations_of_resource("r", resource_type="topic", association_type=None),
        "GET",
        "/associations/resources/r?resourceType=topic",
    ),
    (operations.create_association(ASSOCIATION), "POST", "/associations"),
    (operations.changes(after="latest", limit=1), "GET", "/changes?after=latest&limit=1"),
    (operations.versions("s", visibility=GONE), "GET", "/subjects/s/versions?deletedOnly=true"),
    (operations.version("s", "latest", visibility=ACTIVE), "GET", "/subjects/s/versions/latest"),
    (operations.version("..", 3, visibility=ALL), "GET", "/subjects/%2E%2E/versions/3?deleted=true"),
    (operations.schema_text("s", 3, visibility=ACTIVE), "GET", "/subjects/s/versions/3/schema"),
    (
        operations.version_with_metadata("s", {"k": "v", "a": "b&c"}),
        "GET",
        "/subjects/s/metadata?key=a&key=k&value=b%26c&value=v",
    ),
    (operations.referenced_by("s", 1, visibility=ALL), "GET", "/subjects/s/versions/1/referencedby?deleted=true"),
    (operations.delete_subject("s", deletion=Deletion.SOFT), "DELETE", "/subjects/s"),
    (operations.delete_subject("s", deletion=Deletion.PERMANENT), "DELETE", "/subjects/s?permanent=true"),
    (operations.delete_version("s", "latest", deletion=Deletion.SOFT), "DELETE", "/subjects/s/versions/latest"),
    (
        operations.check_compatibility("s", TEXT, number=None, verbose=True, normalize=False),
        "POST",
        "/compatibility/subjects/s/versions?verbose=true",
    ),
    (
        operations.check_compatibility("s", TEXT, number=2, verbose=False, normalize=True),
        "POST",
        "/compatibility/subjects/s/versions/2?normalize=true",
    ),
    (operations.config(None, default_to_global=False), "GET", "/config"),
    (operations.config(":.c:", default_to_global=True), "GET", "/config/%3A.c%3A?defaultToGlobal=true"),
    (operations.set_config("s", "full", clear=()), "PUT", "/config/s"),
    (operations.delete_config("s"), "DELETE", "/config/s"),
    (operations.mode("s", default_to_global=True), "GET", "/mode/s?defaultToGlobal=true"),
    (operations.set_mode(None, Mode.IMPORT, force=True), "PUT", "/mode?force=true"),
    (operations.delete_mode("s", recursive=True), "DELETE", "/mode/s?recursive=true"),
]


@pytest.mark.parametrize(("operation", "method", "target"), MADE, ids=lambda value: getattr(value, "name", ""))
def test_each_operation_asks_for_its_path(operation, method, target):
    assert (operation.method, operation.target) == (method, target)


def test_only_deletions_and_what_undoes_them_must_not_be_repeated():
    assert {made.name for made, _, _ in MADE if not made.is_repeatable} == {
        "delete_subject",
        "delete_version",
        "delete_config",
        "delete_mode",
        "delete_kek",
        "undelete_kek",
        "delete_dek",
    }


@given(subject=st.text())
def test_any_subject_is_one_segment_that_decodes_to_itself(subject):
    try:
        operation = operations.versions(subject, visibility=ACTIVE)
    except InvalidSubject:
        assert any("\ud800" <= char <= "\udfff" for char in subject)
        return
    segments = urlsplit(f"http://host{operation.target}").path.split("/")
    assert [unquote(segment) for segment in segments] == ["", "subjects", subject, "versions"]
    assert segments[2] not in (".", "..")


@pytest.mark.parametrize(
    "call",
    [
        lambda registry: registry.delete_subject(None),
        lambda registry: registry.register(None, Schema('"int"')),
        lambda registry: registry.version(None),
    ],
)
def test_none_is_not_the_name_none(call):
    registry = InMemoryRegistry().client(retries=0)
    registry.register("None", Schema('"string"'))
    with pytest.raises(InvalidSubject, match="None follows 'subjects' in the path"):
        call(registry)
    assert registry.versions("None") == (1,)


def test_a_lone_surrogate_is_no_name():
    with pytest.raises(InvalidSubject, match="surrogate"):
        operations.subjects(prefix="\ud800", visibility=ACTIVE)


names = st.text(min_size=1, max_size=8)
name_sets = st.sets(names, max_size=2).map(sorted).map(tuple)
pairs = st.dictionaries(names, names, max_size=3)
metadata = st.builds(
    Metadata,
    st.dictionaries(names, name_sets, max_size=2),
    pairs,
    name_sets,
)
rules = st.lists(
    st.builds(
        Rule,
        names,
        type=st.none() | names,
        doc=st.none() | names,
        kind=st.sampled_from(["TRANSFORM", "CONDITION"]),
        mode=st.sampled_from(["WRITE", "READ", "WRITEREAD"]),
        tags=name_sets,
        params=pairs,
        expr=st.none() | names,
        on_success=st.none() | names,
        on_failure=st.none() | names,
        disabled=st.booleans(),
    ),
    max_size=2,
).map(tuple)
rule_sets = st.builds(RuleSet, rules, rules, rules, st.none() | names)
schemas = st.builds(
    Schema,
    st.text(max_size=20),
    st.sampled_from(SchemaType),
    st.lists(st.builds(Reference, names, names, st.integers(-1, 2**31 - 1)), max_size=2).map(tuple),
    st.none() | metadata,
    st.none() | rule_sets,
)


@given(schema=schemas)
def test_a_schema_survives_the_wire(schema):
    sent = operations.register("s", schema, normalize=False).body
    assert SCHEMA.read(ReplyJson(json.loads(sent))) == schema


@given(schema=schemas)
def test_equal_schemas_have_equal_bodies(schema):
    again = SCHEMA.read(ReplyJson(schema_request(schema)))
    assert (
        operations.register("s", again, normalize=False).body == operations.register("s", schema, normalize=False).body
    )


def test_a_level_is_a_change_of_config():
    assert json.loads(operations.set_config("s", "full", clear=()).body) == {"compatibility": "FULL"}


def test_clearing_a_field_sends_null():
    change = operations.set_config("s", Config(normalize=True), clear=["alias", "compatibility_level"])
    assert json.loads(change.body) == {"normalize": True, "alias": None, "compatibility": None}


def test_clearing_what_is_no_field_names_it():
    with pytest.raises(InvalidSettings, match="levle"):
        operations.set_config("s", Config(), clear=["levle"])


def test_a_word_that_is_no_level_is_refused_before_it_is_sent():
    with pytest.raises(InvalidCompatibilityLevel, match="SIDEWAYS"):
        operations.set_config("s", "SIDEWAYS", clear=())


def test_unsetting_a_mode_sends_null():
    assert operations.set_mode("s", None, force=False).body == b'{"mode":null}'


# --- replies -------------------------------------------------------------------------------------------------------


def reply(value, status=200):
    return Reply(status, {"content-type": "application/vnd.schemaregistry.v1+json"}, json.dumps(value).encode())


def test_a_short_registration_reply_is_completed_by_what_was_sent():
    found = read_reply(operations.register("s", TEXT, normalize=False), reply({"id": 4}))
    assert (found.subject, found.version, found.id, found.guid, found.schema) == ("s", None, 4, None, TEXT)


def test_a_full_registration_reply_is_read():
    body = {"id": 4, "version": 2, "guid": "095d71cf-1255-6b9d-5e33-0ad575b3df5d", "schema": '"bytes"', "ts": 1}
    found = read_reply(operations.register("s", TEXT, normalize=False), reply(body))
    assert (found.version, found.guid, found.schema.text) == (2, UUID(body["guid"]), '"bytes"')


def test_no_schema_type_means_avro():
    found = read_reply(operations.schema_by_id(1, subject=None), reply({"schema": "x", "unknown": [1]}))
    assert found == Schema("x", SchemaType.AVRO)


def test_empty_metadata_is_not_none():
    found = read_reply(operations.schema_by_id(1, subject=None), reply({"schema": "x", "metadata": {}}))
    assert found.metadata == Metadata()


@pytest.mark.parametrize(
    ("operation", "body", "expected"),
    [
        (operations.schema_types(), ["JSON", "AVRO"], ("AVRO", "JSON")),
        (operations.subjects(prefix=None, visibility=ACTIVE), ["b", "a"], ("b", "a")),
        (operations.subjects_of_id(1, subject=None, visibility=ACTIVE), ["b", "a"], ("a", "b")),
        (
            operations.versions_of_id(1, subject=None, visibility=ACTIVE),
            [{"subject": "b", "version": 1}, {"subject": "a", "version": 2}],
            (SubjectVersion("a", 2), SubjectVersion("b", 1)),
        ),
        (operations.ids_of_guid("x"), [{"context": ".", "id": 1}], (ContextId(".", 1),)),
        (operations.delete_subject("s", deletion=Deletion.SOFT), [1, 2], (1, 2)),
        (operations.delete_version("s", 1, deletion=Deletion.SOFT), 1, 1),
        (
            operations.check_compatibility("s", TEXT, number=None, verbose=True, normalize=False),
            {"is_compatible": False, "messages": ["x"]},
            Compatibility(is_compatible=False, messages=("x",)),
        ),
        (operations.mode("s", default_to_global=False), {"mode": "readonly"}, Mode.READONLY),
        (operations.delete_mode("s", recursive=True), {}, None),
        (operations.config(None, default_to_global=False), {}, Config()),
        (operations.ping(), ["AVRO"], None),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_replies_are_read_into_values(operation, body, expected):
    assert read_reply(operation, reply(body)) == expected


def test_bare_text_is_given_as_it_is():
    raw = Reply(200, {}, '"ström"\n'.encode())
    assert read_reply(operations.schema_text("s", 1, visibility=ACTIVE), raw) == '"ström"\n'


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [(40401, 404, SubjectNotFound), (40901, 409, IncompatibleSchema), (409, 409, IncompatibleSchema)],
)
def test_a_registrys_error_is_its_class(code, status, kind):
    with pytest.raises(kind, match="no such thing") as caught:
        read_reply(operations.ping(), reply({"error_code": code, "message": "no such thing"}, status))
    assert (caught.value.code, caught.value.status) == (code, status)


def test_an_unknown_code_keeps_its_facts():
    with pytest.raises(RegistryError) as caught:
        read_reply(operations.ping(), reply({"error_code": 42299, "message": "new"}, 422))
    assert (caught.value.code, caught.value.status, caught.value.message) == (42299, 422, "new")


@pytest.mark.parametrize(("status", "kind"), [(401, Unauthorized), (403, Forbidden)])
def test_a_refusal_needs_no_registrys_body(status, kind):
    with pytest.raises(kind):
        read_reply(operations.ping(), Reply(status, {"content-type": "text/html"}, b"<html>"))


MISSHAPEN = [
    (operations.schema_by_id(1, subject=None), {"schema": 5}, "schema is 5 and not a string"),
    (operations.schema_by_id(1, subject=None), {}, "has no 'schema'"),
    (operations.schema_by_id(1, subject=None), [], "not an object"),
    (operations.schema_by_id(1, subject=None), {"schema": "", "schemaType": "XML"}, "one of AVRO"),
    (
        operations.schema_by_id(1, subject=None),
        {"schema": "", "references": [{"name": "a", "subject": "b", "version": "x"}]},
        r"references\[0\].version is 'x'",
    ),
    (operations.version("s", 1, visibility=ACTIVE), {"id": 1, "schema": "x", "version": 1}, "has no 'subject'"),
    (operations.register("s", TEXT, normalize=False), {"id": True}, "id is True"),
    (operations.register("s", TEXT, normalize=False), {"id": 1, "guid": "x"}, "not a guid"),
    (operations.subjects(prefix=None, visibility=ACTIVE), {"a": 1}, "not a list"),
    (operations.subjects(prefix=None, visibility=ACTIVE), [1], r"\[0\] is 1"),
    (operations.versions("s", visibility=ACTIVE), [1.5], "whole number"),
    (operations.mode(None, default_to_global=False), {"mode": "UPSIDE"}, "one of READWRITE"),
    (operations.config(None, default_to_global=False), {"compatibilityLevel": "UPSIDE"}, "one of NONE"),
    (operations.ping(), {}, "not a list"),
]


@pytest.mark.parametrize(("operation", "body", "problem"), MISSHAPEN)
def test_what_does_not_fit_is_named_with_its_place(operation, body, problem):
    with pytest.raises(UnexpectedShapeError, match=problem):
        read_reply(operation, reply(body))


@pytest.mark.parametrize(
    "raw",
    [
        Reply(200, {"content-type": "text/html"}, b"<html>hello</html>"),
        Reply(200, {}, b""),
        Reply(200, {}, b"\xff\xfe"),
        Reply(200, {}, b"[" * 100_000),
        Reply(200, {}, b"9" * 5_000),
        Reply(302, {"location": "http://elsewhere/"}, b""),
        Reply(404, {"content-type": "text/html"}, b"<html>"),
        Reply(500, {}, b'{"error_code": "x", "message": "y"}'),
        Reply(502, {}, b'{"error": "bad gateway"}'),
        Reply(101, {}, b""),
    ],
)
def test_what_no_registry_says_is_distinguished_from_a_no(raw):
    with pytest.raises(UnexpectedShapeError):
        read_reply(operations.versions("s", visibility=ACTIVE), raw)


def test_a_redirect_is_named_with_its_goal():
    with pytest.raises(UnexpectedShapeError, match=r"302 .* points to http://elsewhere/"):
        read_reply(operations.ping(), Reply(302, {"location": "http://elsewhere/"}, b""))


@given(status=st.integers(100, 599), body=st.binary(max_size=40))
def test_no_reply_raises_a_foreign_error(status, body):
    for operation, _, _ in MADE:
        try:
            read_reply(operation, Reply(status, {}, body))
        except (CounterfoilError, UnexpectedShapeError):
            continue


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["schema", "id", "version", "subject", "metadata", "references", "ruleSet", "mode", "tags"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(body=json_values)
def test_no_json_raises_a_foreign_error(body):
    for operation, _, _ in MADE:
        try:
            read_reply(operation, reply(body))
        except (CounterfoilError, UnexpectedShapeError):
            continue


def test_every_operation_of_every_module_is_a_name_of_the_package():
    offered = set(dir(operations))
    modules = {each.name for each in pkgutil.iter_modules(operations.__path__)}
    assert modules.isdisjoint(offered)
    made = {
        name
        for module in map(import_module, (f"{operations.__name__}.{each}" for each in modules - {"operation"}))
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    assert made == offered - {"Operation", "ReplyForm", "as_json", "page_of", "read_reply"}
    assert all(callable(getattr(operations, name)) for name in offered)
