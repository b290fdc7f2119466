"""JWTs: what is accepted, attacks that are not, and the keys of issuers. Nothing here uses the network."""

from __future__ import annotations

import asyncio
import itertools
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import RSAAlgorithm

from counterfoil.registry.access.file.values import ALGORITHMS, Issuer
from counterfoil.registry.access.identities.issuers import InvalidKeySet, IssuerKeys, read_key_set
from counterfoil.registry.access.identities.jwt import JwtVerifier, certificate_thumbprint
from counterfoil.registry.access.identity import UnprovenCaller, UnprovenReason
from strategies.access.token_issuer import (
    AUDIENCE,
    ISSUER,
    NOW,
    Published,
    claims,
    encoded,
    hmac_token,
    private_key,
    public_jwk,
    signed,
    signed_text,
    token,
)

OTHER = "https://other.example/"
KEYS = (public_jwk("ES256", "k1"), public_jwk("RS256", "r1"))


def verifier(issuer=None, *published, others=()):
    """Return a verifier of the issuer, and of others, all of which have the keys of ``published``."""
    origin = Published(*(published or KEYS))
    issuers = [issuer or Issuer(ISSUER, (AUDIENCE,)), *others]
    made = JwtVerifier(issuers, open_keys=lambda each: IssuerKeys(each, origin), clock=lambda: float(NOW))
    return made, origin


def verdict(text, issuer=None, *, certificate=None, published=()):
    made, _ = verifier(issuer, *published)
    return asyncio.run(made.verify(text, certificate))


# --- what is accepted ---


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_of_the_list_is_accepted(algorithm):
    kind = "RS256" if algorithm[:2] in {"RS", "PS"} else algorithm
    header = json.dumps({"alg": algorithm, "kid": "k1"})
    text = f"{encoded(header.encode())}.{encoded(json.dumps(claims()).encode())}"
    from jwt.algorithms import get_default_algorithms

    signature = get_default_algorithms()[algorithm].sign(text.encode(), private_key(kind))
    found = verdict(f"{text}.{encoded(signature)}", published=[public_jwk(kind, "k1")])
    assert found.identity.principal == "User:alice"
    assert found.identity.expires == NOW + 600
    assert (found.identity.method, found.identity.issuer) == ("jwt", ISSUER)


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": [AUDIENCE, "account"]},
        {"exp": NOW - 29},
        {"nbf": NOW + 29, "iat": NOW + 30},
        {"exp": NOW + 0.5},
        {"iat": None},
        {"exp": NOW + 86_400},
    ],
)
def test_claims_within_the_limits_are_accepted(changed):
    assert verdict(token(claims(**changed))).identity.principal == "User:alice"


def test_a_token_without_kid_is_accepted_where_one_key_fits():
    assert verdict(token(kid=None)).identity.principal == "User:alice"
    two = [*KEYS, public_jwk("ES256/2", "k2")]
    assert verdict(token(kid=None), published=two) == UnprovenCaller(UnprovenReason.WRONG)


def test_groups_and_names_of_the_usual_issuers():
    keycloak = claims(realm_access={"roles": ["admin", "dev"]}, resource_access={"registry": {"roles": ["r"]}})
    paths = ("realm_access.roles", "resource_access.registry.roles")
    issuer = Issuer(ISSUER, (AUDIENCE,), prefix="okta:", groups_claims=paths)
    found = verdict(token(keycloak), issuer).identity
    assert found.principal == "User:okta:alice"
    assert found.groups == {"Group:okta:admin", "Group:okta:dev", "Group:okta:r"}

    auth0 = claims(**{"https://example.com/groups": ["a"], "scp": "read  write", "client": "c1"})
    issuer = Issuer(ISSUER, (AUDIENCE,), principal_claim="client", groups_claims=("https://example.com/groups", "scp"))
    found = verdict(token(auth0), issuer).identity
    assert found.principal == "User:c1"
    assert found.groups == {"Group:a", "Group:read", "Group:write"}


@pytest.mark.parametrize("groups", [{"a": True}, 7, [["a"]], ["a", 1], [None], None, {"roles": ["admin"]}, [""], "\n"])
def test_what_is_no_list_of_texts_is_no_group(groups):
    issuer = Issuer(ISSUER, (AUDIENCE,), groups_claims=("groups",), prefix="p:")
    assert verdict(token(claims(groups=groups)), issuer).identity.groups == frozenset()


@pytest.mark.parametrize("name", ["", " ", " alice", "alice ", "\n", "\0"])
def test_a_prefix_makes_no_name_of_what_is_none(name):
    """Otherwise every token without a subject would be the same caller: the one whose name is the prefix."""
    issuer = Issuer(ISSUER, (AUDIENCE,), groups_claims=("groups",), prefix="okta")
    assert verdict(token(claims(sub=name)), issuer) == UnprovenCaller(UnprovenReason.WRONG)
    assert verdict(token(claims(groups=[name])), issuer).identity.groups == frozenset()


def test_an_actor_is_kept_and_rights_are_the_subjects():
    found = verdict(token(claims(act={"sub": "proxy-service"}))).identity
    assert (found.principal, found.act) == ("User:alice", "proxy-service")


def test_a_bound_token_needs_its_certificate():
    bound = token(claims(cnf={"x5t#S256": certificate_thumbprint(b"certificate")}))
    assert verdict(bound, certificate=b"certificate").is_bound
    assert verdict(bound, certificate=b"another") == UnprovenCaller(UnprovenReason.WRONG)
    assert verdict(bound) == UnprovenCaller(UnprovenReason.WRONG)


def test_required_claims_and_types():
    tenant = Issuer(ISSUER, (AUDIENCE,), required_claims={"tid": "t1"}, require_at_jwt=True)
    good = claims(tid="t1")
    assert verdict(token(good, typ="at+jwt"), tenant).identity.principal == "User:alice"
    assert verdict(token(good, typ="application/AT+JWT"), tenant).identity.principal == "User:alice"
    assert verdict(token(good), tenant) == UnprovenCaller(UnprovenReason.WRONG)
    assert verdict(token(good, typ=None), tenant) == UnprovenCaller(UnprovenReason.WRONG)
    assert verdict(token(claims(tid="t2"), typ="at+jwt"), tenant) == UnprovenCaller(UnprovenReason.WRONG)
    assert verdict(token(claims(tid=["t1"]), typ="at+jwt"), tenant) == UnprovenCaller(UnprovenReason.WRONG)
    assert verdict(token(claims(), typ="at+jwt"), tenant) == UnprovenCaller(UnprovenReason.WRONG)


def test_an_expired_token_is_named_as_such():
    assert verdict(token(claims(exp=NOW - 31))) == UnprovenCaller(UnprovenReason.EXPIRED)
    assert verdict(token(claims(exp=NOW - 31), kind="ES256/2")) == UnprovenCaller(
        UnprovenReason.WRONG
    )  # not its signature


# --- attacks: all are the same refusal, and none causes a request ---

PUBLIC = private_key("RS256").public_key()
GOOD = token()
HEAD, BODY, SIGNATURE = GOOD.split(".")
ATTACKS = {
    **{
        f"alg {name}": f"{encoded(json.dumps({'alg': name, 'kid': 'k1'}).encode())}.{BODY}."
        for name in ("none", "None", "NONE", "nOnE", "", " none", "null")
    },
    "alg null": token(alg=None),
    "alg list": token(alg=["ES256"]),
    "alg none with a signature": token(alg="none"),
    "HS256 with PEM": hmac_token(
        PUBLIC.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) + b"\0", kid="r1"
    ),
    "HS256 with DER": hmac_token(PUBLIC.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), kid="r1"),
    "HS256 with JWK": hmac_token(json.dumps(KEYS[1]).encode(), kid="r1"),
    "alg of another kind than the key": token(alg="RS256"),
    "alg with another curve": token(alg="ES384"),
    "kid of another key": token(kid="r1"),
    "another issuer's key with the same kid": token(kind="ES256/2"),
    "no signature": f"{HEAD}.{BODY}.",
    "two parts": f"{HEAD}.{BODY}",
    "five parts": f"{HEAD}.{BODY}.{SIGNATURE}.{SIGNATURE}.{SIGNATURE}",
    "signature cut": GOOD[:-8],
    "signature of zeros": f"{HEAD}.{BODY}.{encoded(bytes(64))}",
    "signature in DER": f"{HEAD}.{BODY}.{encoded(bytes.fromhex('3006020100020100'))}",
    "padding": GOOD + "==",
    "bits that mean nothing": GOOD[:-1] + chr(ord(GOOD[-1]) + 1),
    "white space": f"{HEAD}.{BODY} .{SIGNATURE}",
    "newline": GOOD + "\n",
    "plain base64": f"{HEAD}.{BODY}.{'+/' * 43}",
    "not ASCII": f"{HEAD}.{BODY}.ü",
    "body of another token": f"{HEAD}.{token(claims(sub='root')).split('.')[1]}.{SIGNATURE}",
    "crit": token(crit=["exp"]),
    "crit empty": token(crit=[]),
    "b64 false": token(b64=False),
    "typ of an identity token": token(typ="id+jwt"),
    "typ DPoP": token(typ="dpop+jwt"),
    "typ number": token(typ=7),
    "kid number": token(kid=7),
    "kid null": signed_text('{"alg":"ES256","kid":null}', json.dumps(claims())),
    "header list": signed_text("[]", json.dumps(claims())),
    "header twice": signed_text('{"alg":"none","alg":"ES256","kid":"k1"}', json.dumps(claims())),
    "payload list": signed("[]"),
    "payload text": signed('"x"'),
    "payload no JSON": signed(b"\xff"),
    "payload empty": signed(b""),
    "claims twice": signed(json.dumps(claims())[:-1] + ', "sub": "root"}'),
    "deep": signed(b'{"a":' * 2000 + b"1" + b"}" * 2000),
    "deep lists": signed(b"[" * 10_000),
    "NaN": signed(json.dumps(claims()).replace(str(NOW + 600), "NaN")),
    "Infinity": signed(json.dumps(claims()).replace(str(NOW + 600), "Infinity")),
    "a number of 5,000 digits": signed(json.dumps(claims()).replace(str(NOW + 600), "9" * 5000)),
    "too long": token(claims(padding="x" * 20_000)),
    "no iss": token(claims(iss=None)),
    "iss with a slash": token(claims(iss=ISSUER + "/")),
    "iss upper": token(claims(iss=ISSUER.upper())),
    "iss list": token(claims(iss=[ISSUER])),
    "iss of an attacker": token(claims(iss="https://attacker.example")),
    "iss object": token(claims(iss={"a": 1})),
    "no aud": token(claims(aud=None)),
    "aud empty": token(claims(aud=[])),
    "aud empty text": token(claims(aud="")),
    "aud wrong": token(claims(aud="schema-registry-2")),
    "aud part": token(claims(aud="schema-registry account")),
    "aud object": token(claims(aud={AUDIENCE: True})),
    "aud with a number": token(claims(aud=[AUDIENCE, 1])),
    "no exp": token(claims(exp=None)),
    "exp text": token(claims(exp=str(NOW + 600))),
    "exp true": token(claims(exp=True)),
    "exp 1e308": token(claims(exp=1e308)),
    "exp 10**400": token(claims(exp=10**400)),
    "exp negative": token(claims(exp=-1)),
    "exp null": signed(json.dumps({**claims(), "exp": None})),
    "exp far away": token(claims(exp=NOW + 86_400 + 31)),
    "nbf future": token(claims(nbf=NOW + 31)),
    "nbf text": token(claims(nbf="0")),
    "iat future": token(claims(iat=NOW + 31)),
    "iat list": token(claims(iat=[])),
    "no sub": token(claims(sub=None)),
    "sub of anonymous callers": token(claims(sub="ANONYMOUS")),
    "sub of everybody": token(claims(sub="*")),
    "sub empty": token(claims(sub="")),
    "sub number": token(claims(sub=7)),
    "sub list": token(claims(sub=["alice"])),
    "sub with a control character": token(claims(sub="alice\n")),
    "sub too long": token(claims(sub="a" * 257)),
    "cnf of DPoP": token(claims(cnf={"jkt": "x"})),
    "cnf empty": token(claims(cnf={})),
    "cnf text": token(claims(cnf="x")),
    "cnf without a certificate": token(claims(cnf={"x5t#S256": "x"})),
    "cnf number": token(claims(cnf={"x5t#S256": 7})),
    "empty": "",
    "dots": "..",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused(name):
    async def story():
        made, origin = verifier()
        assert (await made.verify(GOOD)).identity.principal == "User:alice"
        assert await made.verify(ATTACKS[name]) == UnprovenCaller(UnprovenReason.WRONG)
        assert origin.fetches == 1  # the one before the first token

    asyncio.run(story())


@pytest.mark.parametrize(
    "kid",
    ["../../etc/passwd", "https://attacker.example/k", "' OR 1=1 --", "\0", "k" * 8000, "K1", "k1 ", "\ud800"],
)
def test_a_kid_is_only_compared(kid):
    assert verdict(token(kid=kid)) == UnprovenCaller(UnprovenReason.WRONG)


@pytest.mark.parametrize(
    "header",
    [
        {"jwk": public_jwk("ES256/2", "k1")},
        {"jku": "http://127.0.0.1:1/keys", "x5u": "http://127.0.0.1:1/cert", "x5c": ["MIIB"]},
    ],
)
def test_keys_that_a_token_brings_are_not_used(header):
    assert verdict(token(kind="ES256/2", **header)) == UnprovenCaller(UnprovenReason.WRONG)
    assert verdict(token(**header)).identity.principal == "User:alice"


def test_a_key_whose_own_algorithm_is_another_is_not_used():
    ps_only = public_jwk("RS256", "r1", alg="PS256")
    assert verdict(token(kind="RS256", kid="r1"), published=[ps_only]) == UnprovenCaller(UnprovenReason.WRONG)


def test_the_keys_of_one_issuer_say_nothing_about_tokens_of_another():
    async def story():
        origins = {ISSUER: Published(public_jwk("ES256", "k1")), OTHER: Published(public_jwk("ES256/2", "k1"))}
        issuers = [Issuer(ISSUER, (AUDIENCE,), prefix="a:"), Issuer(OTHER, (AUDIENCE,), prefix="b:")]
        made = JwtVerifier(issuers, open_keys=lambda each: IssuerKeys(each, origins[each.name]), clock=lambda: NOW)
        assert (await made.verify(token())).identity.principal == "User:a:alice"
        other = claims(iss=OTHER)
        assert (await made.verify(token(other, kind="ES256/2"))).identity.principal == "User:b:alice"
        assert await made.verify(token(other)) == UnprovenCaller(UnprovenReason.WRONG)
        assert await made.verify(token(kind="ES256/2")) == UnprovenCaller(UnprovenReason.WRONG)

    asyncio.run(story())


HEADERS = st.dictionaries(st.sampled_from(["alg", "kid", "typ", "crit", "x"]), st.none() | st.integers() | st.text())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(["iss", "aud", "exp", "nbf", "iat", "sub", "cnf", "act", "groups"])


@given(st.dictionaries(NAMES, VALUES))
def test_every_signed_payload_is_accepted_or_refused(changed):
    issuer = Issuer(ISSUER, (AUDIENCE,), groups_claims=("groups", "act.sub"))
    found = verdict(token({**claims(), **changed}), issuer)
    assert isinstance(found, UnprovenCaller) or found.identity.principal.startswith("User:")


@given(st.text() | st.lists(st.binary().map(encoded), min_size=3, max_size=3).map(".".join))
def test_every_text_is_refused(text):
    assert verdict(text).reason is UnprovenReason.WRONG


# --- key sets ---


def test_unfit_keys_are_left_out():
    short = RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key(), as_dict=True)
    good = public_jwk("ES256", "good")
    unfit = [
        {"kty": "oct", "k": "AAAA", "kid": "oct"},
        {**short, "kid": "short", "key_ops": None},
        public_jwk("ES256", "enc", use="enc"),
        public_jwk("ES256", "sign", key_ops=["sign"]),
        {**public_jwk("ES256", "curve"), "crv": "secp256k1"},
        {**public_jwk("ES256", "point"), "x": "AAAA"},
        {**public_jwk("EdDSA", "x25519"), "crv": "X25519"},
        public_jwk("ES256", 7),
        public_jwk("ES256", "alg", alg="RS256"),
        public_jwk("ES256", "alg", alg=["ES256"]),
        {"kty": ["EC"]},
        {},
        "text",
        None,
    ]
    found = read_key_set(json.dumps({"keys": [*unfit, good]}).encode())
    assert [key.kid for key in found.keys] == ["good"]


def test_the_private_part_of_a_published_key_is_not_read():
    from jwt.algorithms import ECAlgorithm

    jwk = {**ECAlgorithm.to_jwk(private_key("ES256"), as_dict=True), "kid": "k1", "key_ops": ["verify"]}
    (key,) = read_key_set(json.dumps({"keys": [jwk]}).encode()).keys
    assert not hasattr(key.public, "private_numbers")


@pytest.mark.parametrize(
    "data", [b"", b"<html>", b"[]", b"{}", b'{"keys":{}}', b"[" * 100_000, b"\xff", b'{"keys":[%s1]}']
)
def test_other_documents_are_no_key_set(data):
    with pytest.raises(InvalidKeySet):
        read_key_set(data.replace(b"%s", b"1," * 300))


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["kty", "crv", "x", "y", "n", "e", "kid", "use", "alg", "key_ops"]), VALUES))
def test_every_key_is_read_or_left_out(changed):
    for kind in ("ES256", "RS256", "EdDSA"):
        read_key_set(json.dumps({"keys": [{**public_jwk(kind, "k"), **changed}]}).encode())


# --- keys over time ---


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def keys_over_time(*jwks, **settings):
    clock, origin = Clock(), Published(*jwks)
    return IssuerKeys(Issuer(ISSUER, (AUDIENCE,), **settings), origin, clock=clock), origin, clock


def keyed(keys):
    return JwtVerifier([keys.issuer], open_keys=lambda _: keys, clock=lambda: NOW)


def test_an_issuer_that_is_down_at_the_start_is_no_verdict_and_recovers():
    async def story():
        keys, origin, clock = keys_over_time(*KEYS)
        origin.fails = True
        made = keyed(keys)
        assert await made.verify(GOOD) == UnprovenCaller(UnprovenReason.UNAVAILABLE, 31)
        assert (await made.verify(GOOD)).reason is UnprovenReason.UNAVAILABLE
        assert origin.fetches == 1
        assert keys.failures == 1
        origin.fails = False
        clock.now += 30
        assert (await made.verify(GOOD)).identity.principal == "User:alice"

    asyncio.run(story())


def test_an_outage_later_keeps_the_last_keys_for_their_time():
    async def story():
        keys, origin, clock = keys_over_time(*KEYS, jwks_stale_s=3600)
        made = keyed(keys)
        assert (await made.verify(GOOD)).has_key
        origin.fails = True
        clock.now += 3600
        assert await made.verify(token(kid="new")) == UnprovenCaller(UnprovenReason.WRONG)
        assert (await made.verify(GOOD)).has_key
        assert keys.age_s == 3600
        clock.now += 1
        found = await made.verify(GOOD)
        assert found.reason is UnprovenReason.UNAVAILABLE

    asyncio.run(story())


def test_a_rotation_is_noticed_by_the_unknown_kid_and_a_withdrawn_key_ends_what_it_verified():
    async def story():
        keys, origin, clock = keys_over_time(public_jwk("ES256", "k1"))
        made = keyed(keys)
        before = await made.verify(GOOD)
        assert before.has_key
        origin.jwks = [public_jwk("ES256/2", "k2")]
        clock.now += 30
        after = await made.verify(token(kind="ES256/2", kid="k2"))
        assert after.has_key
        assert not before.has_key
        assert await made.verify(GOOD) == UnprovenCaller(UnprovenReason.WRONG)
        assert origin.fetches == 2

    asyncio.run(story())


def test_a_thousand_unknown_kids_cause_one_fetch():
    async def story():
        keys, origin, clock = keys_over_time(*KEYS)
        made = keyed(keys)
        await made.verify(GOOD)
        clock.now += 60
        forged = [token(kid=f"forged{number}", kind="ES256/2") for number in range(1000)]
        found = await asyncio.gather(*map(made.verify, forged))
        assert set(found) == {UnprovenCaller(UnprovenReason.WRONG)}
        assert origin.fetches == 2
        clock.now += 60
        assert (await made.verify(forged[-1])).reason is UnprovenReason.WRONG
        assert origin.fetches == 2  # it is remembered that this one is unknown
        clock.now += 300
        await made.verify(forged[-1])
        assert origin.fetches == 3

    asyncio.run(story())


def test_a_key_that_comes_between_two_fetches_is_found_by_the_next():
    async def story():
        keys, origin, clock = keys_over_time(public_jwk("ES256", "k1"))
        made = keyed(keys)
        await made.verify(GOOD)
        origin.jwks.append(public_jwk("ES256/2", "k2"))
        clock.now += 10
        new = token(kind="ES256/2", kid="k2")
        assert await made.verify(new) == UnprovenCaller(UnprovenReason.WRONG)
        clock.now += 20
        assert (await made.verify(new)).has_key

    asyncio.run(story())


class ThirdFetch(Published):
    """An origin with an event that is set by the third fetch."""

    def __init__(self, *jwks, refresh_s):
        super().__init__(*jwks, refresh_s=refresh_s)
        self.third = asyncio.Event()

    async def fetch(self):
        if self.fetches == 2:
            self.third.set()
        return await super().fetch()


def test_keys_are_refreshed_in_the_background():
    async def story():
        origin = ThirdFetch(public_jwk("ES256", "k1"), refresh_s=0.0)
        hours = itertools.count(0, 3600)
        keys = IssuerKeys(Issuer(ISSUER, (AUDIENCE,)), origin, clock=lambda: next(hours))
        keys.start()
        async with asyncio.timeout(60):
            await origin.third.wait()
        await keys.stop()

    asyncio.run(story())


def test_a_changed_file_keeps_the_keys_of_issuers_that_are_in_it_as_before():
    async def story():
        made, origin = verifier(None, others=[Issuer(OTHER, (AUDIENCE,))])
        await made.verify(GOOD)
        again = JwtVerifier(
            [Issuer(ISSUER, (AUDIENCE,)), Issuer(OTHER, ("new",))],
            before=made,
            open_keys=lambda each: IssuerKeys(each, origin),
            clock=lambda: NOW,
        )
        assert again.keys_by_issuer[ISSUER] is made.keys_by_issuer[ISSUER]
        assert again.keys_by_issuer[OTHER] is not made.keys_by_issuer[OTHER]
        await made.stop(after=again)
        assert (await again.verify(GOOD)).has_key
        assert origin.fetches == 1

    asyncio.run(story())
