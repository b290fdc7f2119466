"""How both clients prove themselves: tokens from files, functions and OAuth, renewal, and what a refusal does."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import pickle
import threading
import time
import traceback
from urllib.parse import parse_qs

import pytest

from counterfoil.schema.errors import CounterfoilError, Forbidden, SubjectNotFound, Unauthorized
from counterfoil.sdk import (
    AsyncRegistry,
    BasicAuth,
    BearerToken,
    ClientCredentials,
    InvalidSettings,
    Registry,
    RegistryUnavailable,
    TokenFile,
)
from counterfoil.sdk.client.settings import RegistrySettings
from counterfoil.sdk.transport import Clock, NoReply, Reply

TOKENS = "https://login.invalid/token"
SECRET = "hush, hush"
DEADLINE_S = 120
GRANT = ClientCredentials(token_url=TOKENS, client_id="rides", client_secret=SECRET, scope="registry")


class World:
    """A registry that accepts some tokens, and the address that gives them; every request is kept."""

    def __init__(self, *, life_s=100.0):
        self.now_s = 0.0
        self.life_s = life_s
        self.accepted = None
        self.granted = []
        self.second_grant = threading.Event()
        self.granting = None
        self.seen = []
        self.refusal = None
        self.lost = False
        self.clock = Clock(monotonic=lambda: self.now_s, wall=time.time, random=lambda: 0.0)

    def send(self, request):
        if request.url != TOKENS:
            self.seen.append(request.headers.get("Authorization"))
            if self.accepted is None or self.seen[-1] == f"Bearer {self.accepted}":
                return Reply(200, {}, b'["AVRO"]')
            return Reply(401, {}, b'{"error_code": 401, "message": "who are you?"}')
        if self.lost:
            raise NoReply("no connection", was_sent=False)
        if self.refusal is not None:
            return self.refusal
        self.granted.append(request)
        if len(self.granted) > 1:
            self.granting = threading.current_thread()
            self.second_grant.set()
        grant = {"access_token": f"t{len(self.granted)}", "expires_in": self.life_s, "token_type": "Bearer"}
        return Reply(200, {}, json.dumps(grant).encode())

    async def asend(self, request):
        return self.send(request)

    def close(self):
        pass

    async def aclose(self):
        pass


@pytest.fixture(params=["sync", "async"])
def call(request):
    """A function that opens a client and calls the registry ``times`` times; between the calls runs ``between``."""

    def run(world, auth, *, times=1, between=lambda: None, retries=0):
        options = {"auth": auth, "transport": world, "clock": world.clock, "retries": retries}
        if request.param == "sync":
            with Registry("http://one", **options) as registry:
                for _ in range(times):
                    registry.ping()
                    between()
            return

        async def main():
            async with AsyncRegistry("http://one", **options) as registry:
                for _ in range(times):
                    await registry.ping()
                    await asyncio.sleep(0)
                    between()

        asyncio.run(main())

    return run


def test_a_token_in_a_file_is_read_again_when_it_changes(call, tmp_path):
    file = tmp_path / "token"
    file.write_text("first\n")
    world = World()
    call(world, TokenFile(str(file)), times=2, between=lambda: file.write_text("second, longer"))
    assert world.seen == ["Bearer first", "Bearer second, longer"]


def test_a_token_file_that_is_missing_is_named(call, tmp_path):
    with pytest.raises(InvalidSettings, match=r"nowhere cannot be read: No such file"):
        call(World(), TokenFile(str(tmp_path / "nowhere")))


def test_a_function_is_called_for_each_request(call):
    tokens = iter("abc")
    world = World()
    call(world, lambda: next(tokens), times=3)
    assert world.seen == ["Bearer a", "Bearer b", "Bearer c"]


def test_a_coroutine_function_is_awaited():
    async def token():
        return "later"

    world = World()

    async def main():
        async with AsyncRegistry("http://one", auth=token, transport=world) as registry:
            await registry.ping()

    asyncio.run(main())
    assert world.seen == ["Bearer later"]


@pytest.mark.parametrize("token", [None, 7, "two\nlines", "☃"])
def test_a_function_that_returns_no_token_is_reported(call, token):
    with pytest.raises(InvalidSettings, match="printable ASCII") as caught:
        call(World(), lambda: token)
    assert "two" not in str(caught.value)


def test_a_token_is_requested_once_and_used_for_all_calls(call):
    world = World()
    call(world, GRANT, times=5)
    assert world.seen == ["Bearer t1"] * 5
    (grant,) = world.granted
    assert parse_qs(grant.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["registry"]}
    user = base64.b64decode(grant.headers["Authorization"].removeprefix("Basic ")).decode()
    assert user == "rides:hush%2C+hush"


def test_the_secret_may_be_in_the_body(call):
    world = World()
    call(world, ClientCredentials(token_url=TOKENS, client_id="a", client_secret="b", audience="c", method="post"))
    body = parse_qs(world.granted[0].body.decode())
    assert (body["client_id"], body["client_secret"], body["audience"]) == (["a"], ["b"], ["c"])
    assert "Authorization" not in world.granted[0].headers


def test_a_signed_statement_proves_the_client(call, tmp_path):
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(65537, 2048)
    file = tmp_path / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    world = World()
    auth = ClientCredentials(
        token_url=TOKENS, client_id="rides", method="private_key_jwt", private_key_file=str(file), key_id="k1"
    )
    call(world, auth)
    statement = parse_qs(world.granted[0].body.decode())["client_assertion"][0]
    header, claims, signature = (base64.urlsafe_b64decode(part + "==") for part in statement.split("."))
    assert json.loads(header) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    found = json.loads(claims)
    assert (found["iss"], found["sub"], found["aud"]) == ("rides", "rides", TOKENS)
    assert 0 < found["exp"] - time.time() <= 61
    key.public_key().verify(signature, statement.rpartition(".")[0].encode(), padding.PKCS1v15(), SHA256())


def test_a_token_is_renewed_beside_the_calls_before_it_ends(call):
    world = World()

    def later():
        if world.now_s >= 80:  # the client without an event loop renews in a thread
            assert world.second_grant.wait(DEADLINE_S), "waited for the second token"
            if world.granting is not threading.current_thread():
                world.granting.join(DEADLINE_S)  # until the client has it
        world.now_s += 45

    call(world, GRANT, times=4, between=later)
    assert len(world.granted) == 2
    assert world.seen == ["Bearer t1", "Bearer t1", "Bearer t1", "Bearer t2"]


def test_a_refused_token_is_renewed_once_and_the_request_repeated_once(call):
    world = World()
    world.accepted = "t2"
    call(world, GRANT, times=2)
    assert world.seen == ["Bearer t1", "Bearer t2", "Bearer t2"]
    world.accepted = "never"
    world.seen.clear()
    with pytest.raises(Unauthorized, match="who are you"):
        call(world, GRANT)
    assert len(world.seen) == 2


def test_a_refusal_of_the_token_address_names_it_and_its_error(call):
    world = World()
    world.refusal = Reply(400, {}, b'{"error": "invalid_client", "error_description": "unknown client"}')
    with pytest.raises(Unauthorized, match=r"https://login.invalid/token gave no token \(invalid_client: unknown"):
        call(world, GRANT)
    assert world.seen == []


@pytest.mark.parametrize("reply", [Reply(200, {}, b"<html>"), Reply(200, {}, b'{"access_token": 7}'), Reply(302, {})])
def test_an_answer_without_a_token_is_reported(call, reply):
    world = World()
    world.refusal = reply
    with pytest.raises(Unauthorized, match="gave no token"):
        call(world, GRANT)


def test_the_old_token_is_used_while_it_lasts_and_the_address_is_away(call):
    world = World()

    def later():
        world.lost = True
        world.now_s += 45

    with pytest.raises(RegistryUnavailable, match=r"The token address https://login.invalid/token did not answer"):
        call(world, GRANT, times=4, between=later)
    assert world.seen == ["Bearer t1"] * 3


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, None])
def test_a_token_is_requested_again_after_a_failure_of_the_address(call, status):
    world, sent = World(), []
    grant = world.send

    def send(request):
        if request.url == TOKENS:
            sent.append(request.url)
            if len(sent) < 3 and status is None:
                raise NoReply("no connection", was_sent=True)
            if len(sent) < 3:
                return Reply(status, {}, b"away")
        return grant(request)

    world.send = send
    call(world, GRANT, retries=2)
    assert (len(sent), world.seen) == (3, ["Bearer t1"])
    sent.clear()
    with pytest.raises(RegistryUnavailable, match=r"\(2 attempts\)"):
        call(world, GRANT, retries=1)


@pytest.mark.parametrize("status", [400, 401, 403, 501])
def test_a_refusal_of_the_token_address_is_final(call, status):
    world = World()
    world.refusal = Reply(status, {}, b'{"error": "invalid_client"}')
    asked, send = [], world.send
    world.send = lambda request: asked.append(request.url) or send(request)
    with pytest.raises((Unauthorized, RegistryUnavailable)):
        call(world, GRANT, retries=3)
    assert asked == [TOKENS]


def test_the_text_of_a_response_has_its_status(call):
    world = World()
    world.send = lambda _: Reply(404, {}, b'{"error_code": 40401, "message": "no such subject"}')
    with pytest.raises(SubjectNotFound) as caught:
        call(world, BearerToken("t"))
    assert str(caught.value) == str(pickle.loads(pickle.dumps(caught.value))) == "no such subject (HTTP 404)"
    assert caught.value.message == "no such subject"
    assert str(SubjectNotFound("no such subject")) == "no such subject"


def test_forbidden_is_final(call):
    world = World()
    world.send = lambda _: Reply(403, {}, b'{"error_code": 403, "message": "not yours"}')
    with pytest.raises(Forbidden, match="not yours"):
        call(world, BearerToken("t"))


@pytest.mark.parametrize(
    ("message", "operation", "resource"),
    [
        ("User is denied operation Write on Subject: a; b", "Write", "Subject: a; b"),
        ("User is denied operation Write on Subject: a; b; User:x has no rights there", "Write", "Subject: a; b"),
        ("User is denied operation Read on Kek: k; User:x may DESCRIBE, READ there", "Read", "Kek: k"),
        ("User is denied operation Read on Kek: k; User:x may DESCRIBE there; `a b` explains it", "Read", "Kek: k"),
        ("User is denied operation on this server.", None, None),
        ("403 Forbidden", None, None),
    ],
)
def test_forbidden_says_what_was_denied_where_the_response_does(message, operation, resource):
    error = pickle.loads(pickle.dumps(Forbidden(message)))
    assert (error.operation, error.resource) == (operation, resource)


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [
        ({"token_url": "http://login.example/token", "client_secret": "s"}, "token_url"),
        ({"token_url": "https://", "client_secret": "s"}, "token_url"),
        ({"token_url": "ftp://login.example", "client_secret": "s"}, "token_url"),
        ({"token_url": TOKENS}, "client_secret"),
        ({"token_url": TOKENS, "method": "private_key_jwt"}, "private_key_file"),
        ({"token_url": TOKENS, "client_secret": "s", "method": "guess"}, "method"),
        ({"token_url": TOKENS, "client_secret": "s", "client_id": ""}, "client_secret"),
    ],
)
def test_credentials_that_cannot_work_are_refused_at_once(arguments, setting):
    with pytest.raises(InvalidSettings) as caught:
        ClientCredentials(**{"client_id": "c", **arguments})
    assert caught.value.setting == setting


def test_a_secret_may_go_to_this_machine_without_tls():
    for url in ("http://localhost:8080/token", "http://127.0.0.1/token", "http://[::1]:1/token"):
        assert ClientCredentials(token_url=url, client_id="c", client_secret="s").token_url == url


@pytest.mark.parametrize("auth", [7, object(), ("a", "b", "c")])
def test_other_values_are_refused(auth):
    with pytest.raises(InvalidSettings, match="auth is a"):
        Registry("http://one", auth=auth)


REFUSALS = [
    Reply(401, {}, b'{"error_code": 401, "message": "Unauthorized"}'),
    Reply(403, {}, b"<html>no</html>"),
    Reply(302, {"location": "https://elsewhere.invalid/"}),
    Reply(502, {}, b"bad gateway"),
    NoReply("the connection was lost", was_sent=True),
]


@pytest.mark.parametrize("way", ["password", "token", "file", "function", "client credentials"])
@pytest.mark.parametrize("refusal", REFUSALS, ids=["401", "403", "302", "502", "lost"])
def test_no_secret_is_in_an_error_or_a_log(call, way, refusal, tmp_path, caplog):
    file = tmp_path / "token"
    file.write_text(SECRET)
    auth = {
        "password": BasicAuth("u", SECRET),
        "token": BearerToken(SECRET),
        "file": TokenFile(str(file)),
        "function": lambda: SECRET,
        "client credentials": GRANT,
    }[way]
    world = World()
    grant = world.send

    def send(request):
        if request.url == TOKENS and refusal is not REFUSALS[0]:
            return grant(request)
        if isinstance(refusal, NoReply):
            raise refusal
        return refusal

    world.send = send
    with caplog.at_level(logging.DEBUG), pytest.raises(CounterfoilError) as caught:
        call(world, auth)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.args) + repr(vars(caught.value))
    shown += caplog.text + pickle.dumps(caught.value).decode("latin-1")
    basic = base64.b64encode(f"u:{SECRET}".encode()).decode()
    assert [secret for secret in (SECRET, basic, basic[4:-4], "Bearer t1") if secret in shown] == []


@pytest.mark.parametrize("auth", [BasicAuth("u", SECRET), BearerToken(SECRET), GRANT])
def test_no_secret_is_printed(auth):
    settings = RegistrySettings.of("http://one", auth=auth)
    shown = f"{auth!r} {settings!r} {Registry(settings)!r}"
    assert SECRET not in shown
    assert pickle.loads(pickle.dumps(settings)) == settings
