"""Trusted proxies, and names of client certificates."""

from __future__ import annotations

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.access.identities.certificates import InvalidPrincipalRules, NameSource, parse_principal_rules
from counterfoil.registry.access.identity import TrustedProxy, UnprovenCaller, UnprovenReason, parse_networks
from strategies.access.token_issuer import private_key

LOCAL = TrustedProxy(parse_networks(["127.0.0.1", "10.1.0.0/16"]), groups_header="x-groups", prefix="sso:")
SECRET = TrustedProxy(parse_networks(["10.0.0.0/8"]), secret_header="x-proxy-secret", secret="s" * 16)
USER = (b"x-forwarded-user", b"alice")


def test_a_listed_proxy_names_the_caller_and_groups():
    found = LOCAL.identify("127.0.0.1", [USER, (b"x-groups", b"a, b,,c\x07")])
    assert (found.principal, found.method) == ("User:sso:alice", "proxy")
    assert found.groups == {"Group:sso:a", "Group:sso:b"}
    assert LOCAL.identify("::ffff:10.1.2.3", [USER]).principal == "User:sso:alice"


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("127.0.0.2", [USER]),
        ("10.2.0.1", [USER]),
        ("", [USER]),
        ("unix", [USER]),
        ("127.0.0.1", []),
        ("127.0.0.1", [(b"x_forwarded_user", b"alice")]),
        ("127.0.0.1", [(b"x-forwarded-user2", b"alice")]),
    ],
)
def test_others_name_nobody(address, headers):
    assert LOCAL.identify(address, headers) is None


@pytest.mark.parametrize(
    "headers",
    [
        [USER, USER],
        [USER, (b"x-groups", b"a"), (b"x-groups", b"admins")],
        [(b"x-forwarded-user", b"")],
        [(b"x-forwarded-user", b"a\x00b")],
        [(b"x-forwarded-user", b"\xff")],
        [(b"x-forwarded-user", b"x" * 300)],
        [USER, (b"x-groups", b",".join([b"g%d" % n for n in range(1001)]))],
    ],
)
def test_wrong_headers_of_a_proxy_are_refused(headers):
    assert LOCAL.identify("127.0.0.1", headers) == UnprovenCaller(UnprovenReason.WRONG)


def test_nobody_is_named_as_an_anonymous_caller():
    bare = TrustedProxy(parse_networks(["127.0.0.1"]))
    for name in (b"ANONYMOUS", b"*"):
        assert bare.identify("127.0.0.1", [(b"x-forwarded-user", name)]) == UnprovenCaller(UnprovenReason.WRONG)


def test_the_secret_must_be_right():
    assert SECRET.identify("10.0.0.1", [USER, (b"x-proxy-secret", b"s" * 16)]).principal == "User:alice"
    assert SECRET.identify("10.0.0.1", [USER, (b"x-proxy-secret", b"wrong")]) == UnprovenCaller(UnprovenReason.WRONG)
    assert SECRET.identify("10.0.0.1", [USER]) == UnprovenCaller(UnprovenReason.WRONG)
    assert "ssss" not in repr(SECRET)


@pytest.mark.parametrize(
    ("peer", "header", "client"),
    [
        ("127.0.0.1", b"1.2.3.4", "1.2.3.4"),
        ("127.0.0.1", b"9.9.9.9, 1.2.3.4, 10.1.0.7", "1.2.3.4"),
        ("127.0.0.1", b"10.1.0.7", "127.0.0.1"),
        ("127.0.0.1", b"nonsense", "127.0.0.1"),
        ("127.0.0.1", b"", "127.0.0.1"),
        ("8.8.8.8", b"1.2.3.4", "8.8.8.8"),
    ],
)
def test_the_clients_address_is_the_rightmost_that_is_no_proxy(peer, header, client):
    assert LOCAL.client_address(peer, [(b"x-forwarded-for", header)]) == client


@given(
    st.text(), st.lists(st.tuples(st.sampled_from([b"x-forwarded-user", b"x-groups", b"x-forwarded-for"]), st.binary()))
)
def test_no_header_raises(address, headers):
    for peer in (address, "127.0.0.1"):
        LOCAL.identify(peer, headers)
        LOCAL.client_address(peer, headers)


# --- certificates ---

KAFKA = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,"
    "DEFAULT"
)


def named(rules, subject, **alternatives):
    texts = {NameSource.SUBJECT: (subject,), **{NameSource[kind]: names for kind, names in alternatives.items()}}
    return parse_principal_rules(rules).name_of(texts)


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("CN=serviceuser,OU=ServiceUsers,O=Unknown,L=Unknown,ST=Unknown,C=Unknown", "serviceuser"),
        ("CN=adminUser,OU=Admin,O=Unknown,L=Unknown,ST=Unknown,C=Unknown", "adminuser@admin"),
        ("OU=Any,CN=Kafka.Broker,O=x", "kafka.broker"),
        ("O=none", "O=none"),
    ],
)
def test_the_examples_of_kafka(subject, name):
    assert named(KAFKA, subject) == name


def test_other_rules():
    assert named("RULE:CN=(\\w+)/user-$1/U", "CN=a") == "USER-A"
    assert named("RULE:CN=(\\w+)/$1/", "CN=a,O=b") is None  # the whole name must match
    assert named("RULE:.*/a\\/b\\$/", "CN=a") == "a/b$"
    assert (
        named("SAN-URI:RULE:spiffe:\\/\\/prod\\/(.*)/$1/, DEFAULT", "CN=a", URI=("https://x", "spiffe://prod/ci"))
        == "ci"
    )
    assert named("SAN-EMAIL:DEFAULT,DEFAULT", "CN=a", EMAIL=("a@example.com",)) == "a@example.com"
    assert named("SAN-DNS:DEFAULT", "CN=a") is None
    assert named("RULE:(a|aa)+b/$1/", "a" * 4000) is None  # a search that takes too long is no match


@pytest.mark.parametrize(
    "rules",
    ["", " ", "default", "RULE:x", "RULE:(/x/", "RULE:x/$1/", "RULE:x/y/Z", "DEFAULT DEFAULT", "SAN-IP:DEFAULT", "x,"],
)
def test_other_texts_are_no_rules(rules):
    with pytest.raises(InvalidPrincipalRules):
        parse_principal_rules(rules)


@given(st.text(alphabet="RULE:/\\$1(.*)LUDFAT,SN-"), st.text())
def test_every_text_is_a_rule_or_refused(rules, subject):
    try:
        parse_principal_rules(rules).name_of({NameSource.SUBJECT: (subject,)})
    except InvalidPrincipalRules:
        return


def certificate(*attributes, names=()):
    end = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
    subject = x509.Name([x509.NameAttribute(kind, text) for kind, text in attributes])
    key = private_key("ES256")
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(end - dt.timedelta(days=1))
        .not_valid_after(end)
    )
    if names:
        built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def test_a_certificate_names_a_caller_until_it_ends():
    der = certificate(
        (NameOID.COUNTRY_NAME, "DE"), (NameOID.ORGANIZATIONAL_UNIT_NAME, "ServiceUsers"), (NameOID.COMMON_NAME, "ci")
    )
    found = parse_principal_rules("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", prefix="cert:").identify(der)
    assert (found.principal, found.method) == ("User:cert:ci", "certificate")
    assert found.expires == dt.datetime(2030, 1, 1, tzinfo=dt.UTC).timestamp()


def test_alternative_names_are_read():
    der = certificate(names=[x509.UniformResourceIdentifier("spiffe://prod/ci"), x509.DNSName("ci.example")])
    assert parse_principal_rules("SAN-URI:DEFAULT").identify(der).principal == "User:spiffe://prod/ci"
    assert parse_principal_rules("SAN-DNS:DEFAULT").identify(der).principal == "User:ci.example"
    assert parse_principal_rules("DEFAULT").identify(der) is None


@given(st.binary())
def test_other_bytes_are_no_certificate(der):
    assert parse_principal_rules("DEFAULT").identify(der) is None
