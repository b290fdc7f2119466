"""The authenticator: the scheme chooses the method, and nothing else is tried after it."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.access.file.values import AccessFile, Issuer
from counterfoil.registry.access.identities.authenticator import RegistryAuthenticator
from counterfoil.registry.access.identities.certificates import parse_principal_rules
from counterfoil.registry.access.identities.issuers import IssuerKeys
from counterfoil.registry.access.identities.jwt import certificate_thumbprint
from counterfoil.registry.access.identities.passwords import StoredToken, StoredUser, generate_token
from counterfoil.registry.access.identity import (
    CallerIdentity,
    PresentedCredentials,
    TrustedProxy,
    UnprovenCaller,
    UnprovenReason,
    parse_networks,
)
from counterfoil.registry.access.rules import ANONYMOUS, EVERYTHING, allow
from strategies.access.token_issuer import AUDIENCE, ISSUER, NOW, Published, claims, public_jwk, token

WRONG = UnprovenCaller(UnprovenReason.WRONG)
MISSING = UnprovenCaller(UnprovenReason.MISSING)
TOKEN = generate_token()


@dataclass
class PlainHash:
    """A stored password that is compared as it is, and counts the checks."""

    password: bytes
    checks: int = 0
    weakness: None = None

    def fits(self, password):
        self.checks += 1
        return password == self.password


class Tokens:
    def __init__(self):
        self.stored = StoredToken(TOKEN.id, TOKEN.digest, "Service:ci", expires=NOW + 100)
        self.used = []

    @property
    def state(self):
        return self.stored

    def note_use(self, token_id, /):
        self.used.append(token_id)

    async def find_token(self, token_id, /):
        return self.stored if token_id == self.stored.id else None


class World:
    """An authenticator with every method, and what it rests on."""

    def __init__(self, **changed):
        self.hash = PlainHash("gehéim:x".encode())
        self.tokens = Tokens()
        self.origin = Published(public_jwk("ES256", "k1"))
        self.file = AccessFile(
            Path("access.yaml"),
            users={"alice": StoredUser("alice", self.hash)},
            groups={"Group:team": frozenset({"User:alice", "Service:ci", "User:okta:alice", "User:sso:alice"})},
            issuers=(Issuer(ISSUER, (AUDIENCE,), prefix="okta:", groups_claims=("groups",)),),
            proxy=TrustedProxy(parse_networks(["127.0.0.1"]), prefix="sso:"),
        )
        self.file = dataclasses.replace(self.file, **changed)
        self.auth = RegistryAuthenticator(
            self.file,
            tokens=self.tokens,
            certificates=parse_principal_rules("RULE:CN=(.*)/$1/"),
            open_keys=lambda issuer: IssuerKeys(issuer, self.origin),
            clock=lambda: NOW,
        )

    async def ask(self, authorization=None, *, address="192.0.2.1", headers=(), certificate=None):
        sent = authorization.encode() if isinstance(authorization, str) else authorization
        return await self.auth.authenticate(PresentedCredentials(sent, address, tuple(headers), certificate))


def ask(authorization=None, *, world=None, **given_):
    return asyncio.run((world or World()).ask(authorization, **given_))


def basic(name, password):
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def test_each_method_names_its_caller():
    async def story():
        world = World()
        found = await world.ask(basic("alice", "gehéim:x"))
        assert found == CallerIdentity("User:alice", frozenset({"Group:team"}), method="password")
        for scheme in ("basic", "BASIC"):
            assert (await world.ask(basic("alice", "gehéim:x").replace("Basic", scheme))).principal == "User:alice"
        for sent in (f"Bearer {TOKEN.text}", basic("token", TOKEN.text), basic("ci", TOKEN.text)):
            found = await world.ask(sent)
            assert (found.principal, found.token_id, found.groups) == ("Service:ci", TOKEN.id, {"Group:team"})
        found = await world.ask(f"Bearer {token(claims(groups=['dev']))}")
        assert (found.principal, found.method) == ("User:okta:alice", "jwt")
        assert found.groups == {"Group:okta:dev", "Group:team"}
        found = await world.ask(address="127.0.0.1", headers=[(b"x-forwarded-user", b"alice")])
        assert (found.principal, found.groups) == ("User:sso:alice", {"Group:team"})

    asyncio.run(story())


BAD = {
    "another scheme": "Negotiate abc",
    "no scheme": "abc",
    "empty": "",
    "no credentials": "Basic",
    "not base64": "Basic a-b",
    "no colon": "Basic " + base64.b64encode(b"alice").decode(),
    "not UTF-8": "Basic " + base64.b64encode(b"\xff:x").decode(),
    "control character": basic("alice\0", "x"),
    "wrong password": basic("alice", "wrong"),
    "empty password": basic("alice", ""),
    "unknown name": basic("mallory", "gehéim:x"),
    "token of another user": basic("alice", TOKEN.text),
    "token without a name": basic("", TOKEN.text),
    "wrong token": f"Bearer {generate_token().text}",
    "malformed token": f"Bearer {TOKEN.text[:-1]}",
    "token as a JWT": f"Bearer x{TOKEN.text}",
    "wrong JWT": f"Bearer {token(kind='ES256/2')}",
    "JWT as a password": basic("alice", token()),
    "two tokens": f"Bearer {token()} {token()}",
    "not ASCII": b"Bearer \xff\xfe",
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_credentials_are_refused_whatever_else_would_do(name):
    world = World(rules=(allow(ANONYMOUS, [], EVERYTHING),))
    others = {"address": "127.0.0.1", "headers": [(b"x-forwarded-user", b"root")], "certificate": b"any"}
    assert ask(BAD[name], world=world, **others) == WRONG


def test_without_credentials():
    assert ask() == MISSING
    anonymous = World(rules=(allow(ANONYMOUS, [], EVERYTHING),))
    assert ask(world=anonymous) == CallerIdentity(ANONYMOUS, method="anonymous")
    assert ask(headers=[(b"x-forwarded-user", b"alice")]) == MISSING  # from an address that is no proxy


def test_the_header_is_stronger_than_proxy_and_certificate():
    others = {"address": "127.0.0.1", "headers": [(b"x-forwarded-user", b"root")], "certificate": b"any"}
    assert ask(basic("alice", "gehéim:x"), **others).principal == "User:alice"


def test_a_right_password_is_hashed_once_and_a_wrong_one_each_time():
    async def story():
        world = World()
        for _ in range(3):
            assert (await world.ask(basic("alice", "gehéim:x"))).principal == "User:alice"
        assert world.hash.checks == 1
        for _ in range(2):
            assert await world.ask(basic("alice", "wrong")) == WRONG
        assert world.hash.checks == 3

    asyncio.run(story())


def test_who_is_remembered_is_served_while_the_name_is_attacked():
    async def story():
        world = World()
        await world.ask(basic("alice", "gehéim:x"))
        for number in range(10):
            assert await world.ask(basic("alice", f"guess{number}")) == WRONG
        assert (await world.ask(basic("alice", "guess"))).reason is UnprovenReason.THROTTLED
        assert (await world.ask(basic("alice", "gehéim:x"))).principal == "User:alice"

    asyncio.run(story())


def test_another_file_ends_what_was_remembered():
    async def story():
        world = World()
        assert (await world.ask(basic("alice", "gehéim:x"))).principal == "User:alice"
        assert (await world.ask(f"Bearer {token()}")).groups == {"Group:team"}
        disabled = {"alice": StoredUser("alice", world.hash, is_disabled=True)}
        await world.auth.replace(dataclasses.replace(world.file, users=disabled, groups={}))
        assert await world.ask(basic("alice", "gehéim:x")) == WRONG
        assert (await world.ask(f"Bearer {token()}")).groups == set()
        assert world.origin.fetches == 1  # the keys of the issuer were kept
        await world.auth.replace(dataclasses.replace(world.file, issuers=()))
        assert await world.ask(f"Bearer {token()}") == WRONG
        await world.auth.close()

    asyncio.run(story())


def test_a_revoked_token_is_refused_at_the_next_request():
    async def story():
        world = World()
        assert (await world.ask(f"Bearer {TOKEN.text}")).principal == "Service:ci"
        world.tokens.stored = dataclasses.replace(world.tokens.stored, is_active=False)
        assert await world.ask(f"Bearer {TOKEN.text}") == WRONG
        world.tokens.stored = dataclasses.replace(world.tokens.stored, is_active=True, expires=NOW)
        assert await world.ask(f"Bearer {TOKEN.text}") == UnprovenCaller(UnprovenReason.EXPIRED)

    asyncio.run(story())


def test_a_bound_jwt_is_examined_with_each_certificate():
    async def story():
        world = World()
        bound = "Bearer " + token(claims(cnf={"x5t#S256": certificate_thumbprint(b"mine")}))
        assert (await world.ask(bound, certificate=b"mine")).principal == "User:okta:alice"
        assert await world.ask(bound, certificate=b"other") == WRONG
        assert await world.ask(bound) == WRONG

    asyncio.run(story())


def test_wrong_passwords_through_a_proxy_are_counted_by_the_clients_address():
    async def story():
        world = World()
        through = {"address": "127.0.0.1", "headers": [(b"x-forwarded-for", b"203.0.113.1")]}
        for number in range(11):
            last = await world.ask(basic("alice", f"guess{number}"), **through)
        assert last.reason is UnprovenReason.THROTTLED
        other = {"address": "127.0.0.1", "headers": [(b"x-forwarded-for", b"203.0.113.2")]}
        assert (await world.ask(basic("alice", "gehéim:x"), **other)).principal == "User:alice"

    asyncio.run(story())


def test_what_is_offered():
    assert World().auth.takes_bearer
    assert not RegistryAuthenticator(AccessFile(Path("x"))).takes_bearer


@given(
    st.binary() | st.binary().map(lambda data: b"Basic " + base64.b64encode(data)) | st.binary().map(b"Bearer ".__add__)
)
def test_every_header_is_refused(header):
    assert isinstance(ask(header), UnprovenCaller)
