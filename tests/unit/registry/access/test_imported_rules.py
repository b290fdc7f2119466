"""Rules and users of other systems as an access file; questions about an access file."""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.access.file.grammar import load_access_file
from counterfoil.registry.access.file.imports import (
    ImportRefused,
    import_htpasswd,
    import_kafka_acls,
    import_karapace,
    scalar,
)
from counterfoil.registry.access.file.values import FileState, InvalidAccessFile
from counterfoil.registry.access.questions import (
    InvalidQuestion,
    may,
    parse_operation,
    parse_principal,
    parse_resource,
    who_can,
)
from counterfoil.registry.access.resources import AccessOperation
from counterfoil.schema.documents import ScalarNode
from counterfoil.schema.documents.yaml_reader import read_yaml

BCRYPT = "$2y$05$JgumHNC5onBUvbXUPvmDL.DyUuz3K.SyDEEkydKZhS4YXGBHHwgDW"


class OneFile:
    """A snapshot with one file in memory."""

    def __init__(self, text):
        self.text = text
        self.states = (FileState(Path("access.yaml")),)

    def read(self, path, *, most=0):
        assert path.name == "access.yaml"
        assert len(self.text) <= most
        return self.text.encode()


def load(text):
    return load_access_file(Path("access.yaml"), OneFile(text))


def allowed(file, principal, operation, resource):
    return may(file, principal, (), AccessOperation[operation], parse_resource(resource)).allowed


# --- Karapace ---


def karapace(*permissions, users=()):
    document = {
        "users": list(users),
        "permissions": [{"username": "a", "operation": operation, "resource": on} for operation, on in permissions],
    }
    return import_karapace(json.dumps(document).encode(), path="k.json").text


@pytest.mark.parametrize(
    ("operation", "resource", "rule"),
    [
        ("Write", "Subject:general.*", 'allow: [WRITE, PURGE, ALTER_CONFIGS], to: User:a, on: "general*"'),
        ("Read", "Subject:foo", 'allow: reader, to: User:a, on: "foo*"'),
        ("Read", "^Subject:foo$", "allow: reader, to: User:a, on: foo"),
        ("Read", r"Subject:a\.b\-c$", "allow: reader, to: User:a, on: a.b-c"),
        ("Read", r"Subject:a\*$", r'allow: reader, to: User:a, on: "a\\*"'),
        ("Read", "Subject:kek:a$", 'allow: reader, to: User:a, on: "subject:kek:a"'),
        ("Read", "Subject:.*", 'allow: reader, to: User:a, on: ":*:*"'),
        ("Read", ".*", "allow: reader, to: User:a, on: registry"),
        ("Write", "Config:", "allow: ALTER_CONFIGS, to: User:a, on: registry"),
        ("Read", "Config:.*", "allow: DESCRIBE_CONFIGS, to: User:a, on: registry"),
    ],
)
def test_a_pattern_of_karapace_becomes_a_rule(operation, resource, rule):
    text = karapace((operation, resource))
    assert f"  - {{{rule}}}\n" in text
    load(text)


def test_alternatives_become_several_rules_and_users_keep_their_hashes():
    import hashlib

    digest = base64.b64encode(hashlib.pbkdf2_hmac("sha512", b"secret", b"s:alt", 5000)).decode()
    user = {"username": "a", "algorithm": "sha512", "salt": "s:alt", "password_hash": digest}
    file = load(karapace(("Read", "Subject:x$|Subject:y$"), ("Write", "Subject:(p|q).*"), users=[user]))
    assert file.users["a"].stored.fits(b"secret")
    assert allowed(file, "User:a", "READ", "x")
    assert not allowed(file, "User:a", "READ", "xx")
    assert allowed(file, "User:a", "PURGE", "qq")
    assert not allowed(file, "User:a", "UNWRAP", "qq")


@pytest.mark.parametrize(
    "resource",
    [
        "Subject:a[bc]",
        "Subject:a+",
        "Subject:a.*b",
        "Subject:(a",
        "Subject:(?i)a",
        r"Subject:\w",
        "Topic:a",
        "$",
        7,
        None,
    ],
)
def test_other_regular_expressions_stop_the_import_and_all_are_listed(resource):
    with pytest.raises(ImportRefused) as refused:
        karapace(("Read", resource), ("Read", "Subject:a?"))
    assert len(refused.value.problems) == 2
    assert repr(resource) in refused.value.problems[0]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"users": {}}',
        b'{"users": [{"username": "a"}]}',
        b'{"permissions": [1]}',
        b"[" * 100_000,
        b'{"users":[{"username":"a","algorithm":"md5","salt":"","password_hash":"AAAA"}]}',
        b'{"permissions":[{"username":"a","operation":{},"resource":"Subject:a"}]}',
    ],
)
def test_other_documents_are_refused(data):
    with pytest.raises(ImportRefused, match=r"^k.json cannot be imported: "):
        import_karapace(data, path="k.json")


@given(st.text(alphabet="Subject:Config.*$|()\\ab^+[]"))
def test_every_pattern_is_translated_or_refused(resource):
    with contextlib.suppress(ImportRefused):
        load(karapace(("Read", resource)))


# --- Kafka ---

LIST = """\
Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)`:
 \t(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)
\t(principal=User:CN=bob,O=x, host=*, operation=ALL, permissionType=ALLOW)

Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=pay., patternType=PREFIXED)`:
\t(principal=User:alice, host=*, operation=DELETE, permissionType=DENY)
\t(principal=User:carol, host=*, operation=ALL, permissionType=DENY)
\t(principal=User:alice, host=*, operation=CREATE, permissionType=ALLOW)

Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=*, patternType=LITERAL)`:
\t(principal=User:*, host=*, operation=DESCRIBE, permissionType=ALLOW)

Current ACLs for resource `ResourcePattern(resourceType=GROUP, name=g, patternType=LITERAL)`:
\t(principal=User:alice, host=10.0.0.1, operation=READ, permissionType=ALLOW)
"""


def test_a_list_of_kafka_becomes_rules():
    text = import_kafka_acls(LIST, path="acls.txt").text
    assert "left out: 1 entry for GROUP" in text
    assert "left out: 1 entry for the operation CREATE" in text
    assert "User:* is every caller but the anonymous one" in text
    file = load(text)
    assert allowed(file, "User:alice", "READ", "orders-value")
    assert not allowed(file, "User:alice", "READ", "orders")
    assert allowed(file, "User:CN=bob,O=x", "ALTER_CONFIGS", "orders-key")
    assert allowed(file, "User:mallory", "DESCRIBE", "orders-value")
    assert not allowed(file, "User:carol", "DESCRIBE", "pay.x-value")  # ALL is denied
    assert not allowed(file, "User:ANONYMOUS", "DESCRIBE", "orders-value")


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"matches": rows}])
def test_the_json_of_rpk_becomes_rules(wrap):
    row = {"principal": "User:a", "host": "*", "operation": "WRITE", "permission": "ALLOW"}
    rows = [
        {**row, "resource_type": "SUBJECT", "resource_name": "s", "resource_pattern_type": "LITERAL"},
        {**row, "ResourceType": "REGISTRY", "ResourceName": "", "ResourcePatternType": "LITERAL", "operation": "read"},
        {
            **row,
            "resource_type": "SUBJECT",
            "resource_name": "p",
            "resource_pattern_type": "PREFIXED",
            "permission": "DENY",
        },
    ]
    file = load(import_kafka_acls(json.dumps(wrap(rows)), path="acls.json").text)
    assert allowed(file, "User:a", "WRITE", "s")
    assert allowed(file, "User:a", "READ", "anything")
    assert not allowed(file, "User:a", "WRITE", "px")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no entry"),
        ("nonsense", "line 1 is neither"),
        ("(principal=User:a, host=*, operation=READ, permissionType=ALLOW)", "line 1 is about no resource"),
        (LIST.replace("host=*", "host=10.0.0.1"), "rights by host (10.0.0.1) do not exist here"),
        (LIST.replace("User:alice", "RedpandaRole:x"), "the principal must be User:NAME or Group:NAME"),
        (LIST.replace("=DELETE", "=FLY"), "the operation is unknown"),
        (LIST.replace("PREFIXED", "MATCH"), "the type of the pattern"),
        (LIST.replace("=TOPIC", "=PLANET"), "the type of the resource is unknown"),
        (LIST.replace("=DENY", "=MAYBE"), "the permission must be"),
        ("{}", "no list of matches"),
        ("[{}]", "match 1 has no"),
        ("[" * 100_000, "it is not JSON"),
    ],
)
def test_other_lists_are_refused(text, problem):
    with pytest.raises(ImportRefused) as refused:
        import_kafka_acls(text, path="acls.txt")
    assert problem in str(refused.value)


@given(st.text() | st.lists(st.sampled_from(LIST.splitlines())).map("\n".join))
def test_every_list_is_translated_or_refused(text):
    with contextlib.suppress(ImportRefused):
        load(import_kafka_acls(text, path="acls.txt").text)


# --- htpasswd, and the text ---


def test_users_of_htpasswd():
    text = import_htpasswd(f"alice:{BCRYPT}\nbob:!{BCRYPT}\n".encode(), path="u").text
    assert "left out: bob is disabled" in text
    assert load(text).users["alice"].stored.fits(b"correct horse")
    with pytest.raises(InvalidAccessFile, match="u:1:1: alice has"):
        import_htpasswd(b"alice:secret\n", path="u")


@given(st.text(min_size=1))
def test_a_scalar_is_read_back(text):
    found = read_yaml(f"- {{a: {scalar(text)}}}").items[0].entries["a"]
    assert isinstance(found, ScalarNode)
    assert found.text == text


# --- questions ---

FILE = """\
admins: [User:root]
groups: {team: [User:alice]}
rules:
  - {allow: developer, to: Group:team, on: "pay.*"}
  - {deny: WRITE, to: User:alice, on: pay.ledger-value}
  - {allow: READ, to: "User:*", on: public-value}
  - {allow: READ, to: Group:okta:dev, on: "kek:pii-*"}
anonymous: [{allow: READ, on: "open.*"}]
"""


def test_can_names_the_deciding_rule_and_those_that_came_near():
    file = load(FILE)
    answer = may(file, "User:alice", (), AccessOperation.WRITE, parse_resource("pay.ledger-value"))
    assert (answer.allowed, answer.by.source) == (False, "access.yaml:5")
    assert [rule.source for rule in answer.near] == ["access.yaml:4"]
    assert may(file, "User:x", ["Group:okta:dev"], AccessOperation.READ, parse_resource("kek:pii-a")).allowed
    assert may(file, "User:root", (), AccessOperation.PURGE, parse_resource("registry")).by.is_final
    nothing = may(file, "User:x", (), AccessOperation.WRITE, parse_resource("pay.x"))
    assert (nothing.allowed, nothing.by, nothing.near) == (False, None, ())
    assert not may(file, "User:ANONYMOUS", (), AccessOperation.READ, parse_resource("public-value")).allowed
    assert may(file, "User:ANONYMOUS", (), AccessOperation.READ, parse_resource("open.a")).allowed


def test_who_can_names_principals_with_their_rules():
    found = {
        name: rule.source
        for name, rule in who_can(load(FILE), AccessOperation.WRITE, parse_resource("pay.ledger-value"))
    }
    assert found == {"User:root": "access.yaml:1", "Group:team": "access.yaml:4"}
    found = dict(who_can(load(FILE), AccessOperation.READ, parse_resource("public-value")))
    assert set(found) == {"User:root", "Group:team", "User:alice", "User:*", "Group:okta:dev"}


@pytest.mark.parametrize(
    "ask",
    [
        lambda: parse_operation("FLY"),
        lambda: parse_resource("pay.*"),
        lambda: parse_resource("*"),
        lambda: parse_resource("kek:"),
        lambda: parse_resource(":*:a"),
        lambda: parse_principal("alice"),
        lambda: parse_principal("User:"),
    ],
)
def test_questions_about_what_does_not_exist_are_refused(ask):
    with pytest.raises(InvalidQuestion):
        ask()


@pytest.mark.parametrize("text", ["registry", "context:.c", ":.c:x", "x", "kek:k", r"a\*b"])
def test_resources_are_named_as_in_rules(text):
    resource = parse_resource(text)
    assert load(f"rules: [{{allow: READ, to: User:a, on: {scalar(text)}}}]").rules[0].pattern.covers(resource)
