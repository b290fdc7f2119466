"""The access file: what it declares, mistakes with line and column, warnings. The files are in memory."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.access.file.grammar import load_access_file
from counterfoil.registry.access.file.in_force import find_idle_rules, find_warnings
from counterfoil.registry.access.file.values import FileState, InvalidAccessFile
from counterfoil.registry.access.resources import AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.access.rights import decide
from counterfoil.registry.access.rules import ANONYMOUS, parse_pattern

ARGON2 = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
BCRYPT = "$2y$05$JgumHNC5onBUvbXUPvmDL.DyUuz3K.SyDEEkydKZhS4YXGBHHwgDW"
FULL = f"""\
admins: [User:alice, Group:okta:platform]
issuers:
  - issuer: https://login.example/realms/main
    prefix: "okta:"
    audience: [schema-registry]
    groups_claims: [realm_access.roles]
    leeway_s: 10
    required_claims: {{tid: t1}}
  - issuer: https://other.example
    prefix: "o:"
    audience: registry
    jwks_file: keys/other.json
    require_at_jwt: true
    algorithms: [ES256]
htpasswd: users.htpasswd
users:
  bob: "{ARGON2}"
  karla: {{algorithm: sha512, salt: abc, password_hash: {"QUJD" * 8}}}
groups: {{payments: [User:bob, Service:payments-ci]}}
roles:
  publisher: [WRITE, DELETE]
rules:
  - {{allow: developer, to: Group:payments, on: "pay.*"}}
  - {{allow: [READ], to: "User:*", on: ":.shared:*"}}
  - {{deny: [DELETE], to: Group:payments, on: pay.ledger-value}}
  - allow: [publisher, METRICS]
    to: [User:bob, User:alice]
    on: [registry, "context:.c"]
anonymous:
  - {{allow: reader, on: "public.*"}}
open: [metrics]
proxy:
  addresses: [127.0.0.1/32, "::1"]
  user_header: X-Forwarded-User
  groups_header: x-groups
  prefix: "sso:"
"""


class Files:
    """Files in memory, as a snapshot of the disk."""

    def __init__(self, **contents):
        self.contents = {"users.htpasswd": f"alice:{BCRYPT}\n", **contents}
        self.states = ()

    def read(self, path, *, most=0):
        content = self.contents.get(path.name)
        if content is None:
            raise InvalidAccessFile(str(path), "there is no such file")
        data = content if isinstance(content, bytes) else content.encode()
        if most and len(data) > most:
            raise InvalidAccessFile(str(path), "too long")
        self.states = (*self.states, FileState(path, hashlib.sha256(data).digest(), mode=0o100644))
        return data


def load(text, **contents):
    return load_access_file(Path("etc/access.yaml"), Files(**{"access.yaml": text, **contents}))


def test_a_full_file_is_read():
    file = load(FULL)
    assert file.admins == ("User:alice", "Group:okta:platform")
    assert set(file.users) == {"alice", "bob", "karla"}
    assert file.users["bob"].stored.fits(b"password")
    assert file.groups == {"Group:payments": frozenset({"User:bob", "Service:payments-ci"})}
    assert file.open_paths == {b"/metrics"}
    assert file.has_anonymous
    first, second = file.issuers
    assert (first.name, first.prefix, first.audience, first.leeway_s) == (
        "https://login.example/realms/main",
        "okta:",
        ("schema-registry",),
        10,
    )
    assert first.required_claims == {"tid": "t1"}
    assert second.jwks_file == "etc/keys/other.json"
    assert second.require_at_jwt
    assert file.proxy.is_at("::1")
    assert file.proxy.user_header == "x-forwarded-user"
    assert len(file.rules) == 2 + 3 + 4 + 1
    assert file.rules[2].source == "etc/access.yaml:23"
    assert file.rules[-1].principal == ANONYMOUS


def test_its_rules_decide():
    rules = load(FULL).rules
    ledger = AccessResource(ResourceKind.SUBJECT, "pay.ledger-value", ".")
    team = {"User:bob", "Group:payments", "User:*"}
    assert decide(rules, team, AccessOperation.WRITE, ledger).allowed
    denied = decide(rules, team, AccessOperation.DELETE, ledger)
    assert (denied.allowed, denied.by.source) == (False, "etc/access.yaml:25")
    assert decide(rules, {"User:alice"}, AccessOperation.DELETE, ledger).allowed
    assert decide(
        rules, {ANONYMOUS}, AccessOperation.READ, AccessResource(ResourceKind.SUBJECT, "public.a", ".")
    ).allowed
    assert not decide(rules, {ANONYMOUS}, AccessOperation.READ, ledger).allowed


ISSUER = "issuers: [{issuer: 'https://a.example', audience: x"
MISTAKES = {
    "": "the file is empty",
    "[]": "1:1: the access file must be a mapping",
    "rule: []": "1:1: the access file has no key rule; did you mean rules?",
    "admins: alice": "1:9: admins must be a list",
    "admins: [alice]": "1:10: an administrator must be User:NAME or Service:NAME or Group:NAME, not alice",
    "admins: ['User:*']": "1:10: User:* cannot be an administrator",
    "admins: [User:]": "1:10: an administrator must be",
    'admins: ["User:a\\u0007"]': "1:10: an administrator must be",
    "rules: [{allow: READ, on: x}]": "1:9: a rule needs to",
    "rules: [{to: User:a, on: x}]": "1:9: a rule needs allow or deny, and not both",
    "rules: [{allow: READ, deny: READ, to: User:a, on: x}]": "1:9: a rule needs allow or deny, and not both",
    "rules: [{allow: READ, to: User:a}]": "1:9: a rule needs on",
    "rules: [{allow: [], to: User:a, on: x}]": "1:17: a list of operations must have at least one",
    "rules:\n  - {allow: RAED, to: User:a, on: x}": "2:13: RAED is neither an operation nor a role; did you mean READ?",
    "rules: [{allow: READ, to: [], on: x}]": "1:9: a rule needs at least one principal",
    "rules: [{allow: READ, to: User:a, on: 'kek:'}]": "1:39: 'kek:' is no pattern: a name is missing",
    "rules: [{allow: READ, to: User:a, on: 'context:c'}]": "1:39: 'context:c' is no pattern",
    "rules: [{allow: READ, to: User:a, on: {}}]": "1:39: '' is no pattern",
    "rules: [7]": "1:9: a rule must be a mapping",
    "a: &x 1\nb: *x": "2:4: an alias, *x; expected the value itself",
    "rules: &r []\nanonymous: *r": "2:12: an alias, *r",
    "roles: {reader: [READ]}": "1:9: reader is the name of a built-in role",
    "roles: {r: [developer]}": "1:13: developer is neither an operation nor a role",
    "roles: [r]": "1:8: roles must be a mapping",
    "groups: {g: [Group:x]}": "1:14: a member of g must be User:NAME or Service:NAME, not Group:x",
    "groups: {g: User:a}": "1:13: g must be a list",
    "groups: {g: ['User:*']}": "1:14: a member of g cannot be User:*",
    "users: {a: secret}": "1:12: a: no hash of a known kind",
    "users: {a: {algorithm: md5, salt: x, password_hash: QUJDQUJDQUJDQUJDQUJDQUJD}}": "1:12: a: algorithm must be one",
    "users: {a: {algorithm: sha1}}": "1:12: the hash of a needs salt",
    "users: {ANONYMOUS: x}": "1:9: ANONYMOUS has a meaning of its own in rules",
    "users: {'': x}": "1:9: a name must have 1 to 256 printable characters",
    f"users: {{alice: '{ARGON2}'}}\nhtpasswd: users.htpasswd": "users.htpasswd:1:1: alice is also one of the users",
    "htpasswd: gone": "etc/gone: there is no such file",
    "htpasswd: ''": "1:11: htpasswd must be a text",
    "open: [everything]": "1:8: everything cannot be open; it takes badges, metrics, openapi",
    "issuers: [{issuer: 'https://a.example'}]": "1:11: an issuer needs audience",
    "issuers: [{issuer: 'http://a.example', audience: x}]": "1:20: issuer, whose keys are found by its address",
    ISSUER + ", audience: y}]": "audience is here a second time",
    ISSUER + ", algorithms: [HS256]}]": "algorithms may be RS256",
    ISSUER + ", algorithms: [none]}]": "algorithms may be RS256",
    ISSUER + ", leeway_s: 301}]": "leeway_s must be a whole number from 0 to 300, not 301",
    ISSUER + ", leeway_s: x}]": "leeway_s must be a whole number from 0 to 300, not x",
    ISSUER + ", jwks_url: 'http://a.example/k'}]": "jwks_url must begin with https://",
    ISSUER + ", jwks_url: 'https://a.example/k', jwks_file: x}]": "remove one of them",
    ISSUER + ", required_claims: [x]}]": "required_claims must be a mapping",
    ISSUER + ", require_at_jwt: maybe}]": "require_at_jwt must be true or false",
    ISSUER + "}, {issuer: 'https://a.example', prefix: b, audience: x}]": "https://a.example is an issuer twice",
    ISSUER
    + "}, {issuer: 'https://b.example', audience: x}]": "https://b.example could give the same names as https://a",
    ISSUER + "}]\nhtpasswd: users.htpasswd": "https://a.example could give the same names as users and htpasswd",
    ISSUER + "}]\nproxy: {addresses: [127.0.0.1]}": "the proxy could give the same names as https://a.example",
    "proxy: {addresses: []}": "1:20: addresses must have at least one text",
    "proxy: {addresses: [10.0.0.1/8]}": "1:20: addresses must be networks such as 10.0.0.0/8",
    "proxy: {addresses: [10.0.0.0/8]}": "1:8: a proxy that is not on loopback needs secret_header and secret_file",
    "proxy: {addresses: [127.0.0.1], secret_header: x-s}": "1:8: secret_header and secret_file belong together",
    "proxy: {addresses: [127.0.0.1], user_header: 'a b'}": "1:46: user_header must be the name of a header",
    "proxy: {addresses: [127.0.0.1], user_header: x_user}": "1:46: user_header must be the name of a header",
    "proxy: {addresses: [10.0.0.0/8], secret_header: x-s, secret_file: short}": "short: the secret of a proxy must",
    "rules: [": "not YAML",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_has_its_place(text):
    with pytest.raises(InvalidAccessFile) as refused:
        load(text, short="secret")
    assert MISTAKES[text] in str(refused.value)
    assert str(refused.value).startswith("etc/")


@pytest.mark.slow
def test_sizes_are_limited():
    with pytest.raises(InvalidAccessFile, match="more than 10000 rules"):
        load("rules:\n" + "  - {allow: READ, to: User:a, on: [a, b, c, d, e]}\n" * 2001)
    with pytest.raises(InvalidAccessFile, match="too long"):
        load("# " + "x" * 1024 * 1024)
    with pytest.raises(InvalidAccessFile, match="not UTF-8"):
        load(b"admins: [\xff]")


@given(st.data())
def test_every_edit_of_a_file_is_read_or_refused(data):
    text = FULL
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = (
            text[:start]
            + data.draw(st.text(max_size=4) | st.sampled_from(["{", "]", ": ", "\n", "*", "User:"]))
            + text[end:]
        )
    with contextlib.suppress(InvalidAccessFile):
        load(text)


# --- warnings ---


def warned(text, **contents):
    file = load(text, **contents)
    return [str(each) for each in (*find_warnings(file), *find_idle_rules(file))]


def test_a_sound_file_has_no_warnings():
    users = f"users: {{a: '{ARGON2}', b: '{ARGON2}'}}"
    sound = f"admins: [User:a]\n{users}\nrules: [{{allow: READ, to: User:b, on: x}}]\n"
    file = load(sound)
    hidden = dataclasses.replace(file, states=tuple(dataclasses.replace(each, mode=0o600) for each in file.states))
    assert find_warnings(hidden) == ()
    assert find_idle_rules(hidden) == ()


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (f"users: {{a: '{ARGON2}'}}", "etc/access.yaml: readable by others: it has hashes"),
        ("htpasswd: users.htpasswd", "etc/users.htpasswd:1: weak hash: alice: bcrypt with cost 5"),
        ("rules: []", "etc/access.yaml: no administrator: "),
        ("admins: [User:gone]", "etc/access.yaml:1: unknown name: User:gone: no user of the file"),
        ("groups: {g: [User:gone]}", "etc/access.yaml:1: unknown name: User:gone"),
        ("rules: [{allow: READ, to: Group:gone, on: x}]", "unknown name: Group:gone: no group of the file"),
        (ISSUER + ", prefix: a}, {issuer: 'https://b.example', audience: x, prefix: ab}]", "can give the same names"),
        (
            f"users: {{'okta:bob': '{ARGON2}'}}\n{ISSUER}, prefix: 'okta:'}}]",
            "okta:bob is a user of the file and can be a name of https://a.example",
        ),
        (
            "rules:\n- {allow: READ, to: User:a, on: 'x.*'}\n- {allow: READ, to: User:a, on: x.y}",
            "etc/access.yaml:3: rule without effect: allow READ to User:a on x.y has no effect, because of etc/ac",
        ),
        (
            "rules:\n- {allow: READ, to: User:a, on: 'x.y'}\n- {deny: DESCRIBE, to: User:a, on: 'context:.'}",
            "etc/access.yaml:2: rule without effect: allow READ to User:a on x.y",
        ),
        (
            "rules:\n- {allow: READ, to: User:a, on: x}\n- {allow: READ, to: User:a, on: x}",
            "etc/access.yaml:3: rule without effect",
        ),
        ("rules: [{allow: METRICS, to: User:a, on: x}]", "has an effect with on: registry alone"),
    ],
)
def test_what_is_doubtful_is_a_warning(text, warning):
    assert any(warning in each for each in warned(text)), warned(text)


def test_rules_that_have_an_effect_are_no_warning():
    text = """\
htpasswd: users.htpasswd
rules:
- {allow: READ, to: User:alice, on: 'x.*'}
- {allow: WRITE, to: User:alice, on: x.y}
- {deny: DELETE, to: User:alice, on: 'x.*'}
- {allow: DESCRIBE, to: User:alice, on: ':.c:x.*'}
"""
    assert find_idle_rules(load(text)) == ()


NAMES = st.text(alphabet="ab*", max_size=4)


@given(NAMES, NAMES, st.text(alphabet="ab", max_size=6))
def test_containment_of_patterns_is_certain(outer, inner, name):
    from counterfoil.registry.access.rules import contains

    if not outer or not inner:
        return
    first, second = parse_pattern(outer), parse_pattern(inner)
    subject = AccessResource(ResourceKind.SUBJECT, name, ".")
    if contains(first, second) and second.covers(subject):
        assert first.covers(subject)
