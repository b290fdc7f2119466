"""Python's clients and every way of proving oneself: right, wrong, and ended while the client is used.

The clients are Confluent's (with threads, with an event loop) and ours (likewise). Those of other languages do the same
in ``go/credentials_test.go``, ``java/ConfluentClient.java`` and ``javascript/credentials.test.cjs``.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import httpx2  # of confluent-kafka
import pytest
from confluent_kafka.schema_registry import AsyncSchemaRegistryClient, SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.schema_registry_client import ConfigCompatibilityLevel, ServerConfig

from counterfoil.schema.errors import Forbidden, Unauthorized
from counterfoil.sdk import (
    AsyncRegistry,
    BasicAuth,
    BearerToken,
    ClientCredentials,
    Registry,
    RegistrySettings,
    RegistryUnavailable,
    TlsSettings,
)
from local_services import wait_until
from strategies.access.certificates import Authority
from strategies.access.guarded_registry import BRIEF, CLIENT_SECRET, LASTING
from strategies.registry.served_with_tls import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from counterfoil.sdk.client.settings import Auth
    from strategies.access.guarded_registry import GuardedRegistry

BEARER = {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.logical.cluster": ""}
BEARER |= {"bearer.auth.identity.pool.id": ""}  # CKP#2142: who has a registry of their own sets both to nothing


@dataclass(frozen=True)
class Login:
    """One way of proving oneself: the settings of Confluent's client and of ours; ``end`` makes it end."""

    settings: dict[str, Any]
    auth: Auth | None
    end: Callable[[], object] = lambda: None
    tls: TlsSettings = field(default_factory=TlsSettings)


def password(guarded: GuardedRegistry, name: str) -> tuple[Login, Login]:
    """Return the right login and a wrong one."""
    guarded.administer("PUT", f"users/{name}", {"password": "pass word"})
    right, wrong = (
        Login(
            {"basic.auth.user.info": f"{name}:{text}"},
            BasicAuth(name, text),
            lambda: guarded.administer("PUT", f"users/{name}", {"disabled": True}),
        )
        for text in ("pass word", "password")
    )
    return right, wrong


def api_tokens(guarded: GuardedRegistry, name: str) -> tuple[str, str, Callable[[], object]]:
    """Return a token, one that differs in its last character, and what revokes the first."""
    guarded.administer("PUT", f"users/{name}", {"password": "pass word"})
    made = guarded.administer("POST", "tokens", {"owner": f"User:{name}", "name": "a test"})
    token: str = made["token"]
    wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
    return token, wrong, lambda: guarded.administer("DELETE", f"tokens/{made['id']}")


def token_as_password(guarded: GuardedRegistry, name: str) -> tuple[Login, Login]:
    token, changed, revoke = api_tokens(guarded, name)
    right, wrong = (
        Login({"basic.auth.user.info": f"token:{text}"}, BasicAuth("token", text), revoke) for text in (token, changed)
    )
    return right, wrong


def bearer(token: str, end: Callable[[], object] = lambda: None) -> Login:
    return Login({**BEARER, "bearer.auth.token": token}, BearerToken(token), end)


def api_token(guarded: GuardedRegistry, name: str) -> tuple[Login, Login]:
    token, changed, revoke = api_tokens(guarded, name)
    return bearer(token, revoke), bearer(changed)


def jwt(guarded: GuardedRegistry, name: str) -> tuple[Login, Login]:
    del name
    header, payload, signature = guarded.token(LASTING).split(".")
    return bearer(guarded.token(BRIEF)), bearer(f"{header}.{payload}.{signature[::-1]}")


def oauth(guarded: GuardedRegistry, secret: str) -> Login:
    """Return the login of a client that gets its tokens by itself; they end after two seconds."""
    settings = {
        **BEARER,
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": guarded.token_url,
        "bearer.auth.client.id": BRIEF,
        "bearer.auth.client.secret": secret,
        "bearer.auth.scope": "read",
    }
    grant = ClientCredentials(token_url=guarded.token_url, client_id=BRIEF, client_secret=secret, scope="read")
    return Login(settings, grant)


class Clients:
    """The four clients with one login."""

    def __init__(self, url: str, login: Login, runner: asyncio.Runner) -> None:
        conf = {"url": url, "max.retries": 0, **login.settings}
        ours = replace(RegistrySettings.of(url, auth=login.auth, retries=0), tls=login.tls)
        self._theirs, self._theirs_async = SchemaRegistryClient(conf), AsyncSchemaRegistryClient(conf)
        self._ours, self._ours_async = Registry(ours), AsyncRegistry(ours)
        self._run = runner.run

    def statuses(self) -> list[int]:
        """Return the codes with which a request of each client is refused, or 200, or 0 without a connection."""
        return [
            status_of(self._theirs.get_subjects),
            status_of(lambda: self._run(self._theirs_async.get_subjects())),
            status_of(self._ours.subjects),
            status_of(lambda: self._run(self._ours_async.subjects())),
        ]

    def change_level(self) -> None:
        """Check that nobody but an administrator may change the level of the registry."""
        with pytest.raises(SchemaRegistryError, match="User is denied operation") as denied:
            self._theirs.set_config(config=ServerConfig(compatibility=ConfigCompatibilityLevel.NONE))
        assert (denied.value.http_status_code, denied.value.error_code) == (403, 40301)
        with pytest.raises(Forbidden, match="User is denied operation"):
            self._ours.set_config(None, "NONE")

    def close(self) -> None:
        self._ours.close()
        self._run(self._ours_async.close())


def status_of(call: Callable[[], object]) -> int:
    try:
        call()
    except SchemaRegistryError as refusal:
        return refusal.error_code
    except Unauthorized:
        return 401
    except (RegistryUnavailable, httpx2.TransportError):
        return 0
    return 200


@pytest.fixture
def clients(guarded_registry: GuardedRegistry) -> Iterator[Callable[[Login], Clients]]:
    opened: list[Clients] = []
    with asyncio.Runner() as runner:

        def opened_with(login: Login) -> Clients:
            opened.append(Clients(guarded_registry.url, login, runner))
            return opened[-1]

        yield opened_with
        for each in opened:
            each.close()


@pytest.mark.parametrize("method", [password, token_as_password, api_token])
def test_a_login_is_accepted_until_it_ends(
    method: Callable[[GuardedRegistry, str], tuple[Login, Login]],
    guarded_registry: GuardedRegistry,
    clients: Callable[[Login], Clients],
    unique_name: Callable[[str], str],
    caplog: pytest.LogCaptureFixture,
):
    right, wrong = method(guarded_registry, unique_name("caller"))
    caplog.set_level(logging.DEBUG)
    used = clients(right)
    assert used.statuses() == [200] * 4
    used.change_level()
    assert clients(wrong).statuses() == [401] * 4
    right.end()
    assert used.statuses() == [401] * 4
    secret = next(reversed(right.settings.values())).removeprefix("token:")
    assert secret not in caplog.text
    assert secret.rpartition(":")[2] not in caplog.text


def test_a_jwt_is_accepted_until_it_ends_and_a_client_of_oauth_gets_new_ones(
    guarded_registry: GuardedRegistry, clients: Callable[[Login], Clients]
):
    granted = clients(oauth(guarded_registry, CLIENT_SECRET))
    assert granted.statuses() == [200] * 4
    for _ in range(10):  # a busy machine may need longer for four requests than a token lasts
        right, wrong = jwt(guarded_registry, "")
        used = clients(right)
        if used.statuses() == [200] * 4:
            break
    else:
        pytest.fail("the token was never accepted")
    assert clients(wrong).statuses() == [401] * 4
    wait_until(lambda: used.statuses() == [401] * 4, what="the end of the token")
    assert granted.statuses() == [200] * 4  # its first token has ended, too: it is older


def test_a_client_of_oauth_that_its_issuer_does_not_know_reports_it(
    guarded_registry: GuardedRegistry, clients: Callable[[Login], Clients]
):
    refused = clients(oauth(guarded_registry, "wrong"))
    with pytest.raises(Unauthorized, match="invalid_client"):
        refused._ours.subjects()
    with pytest.raises(Exception, match=r"(?i)token|invalid_client|oauth"):
        refused._theirs.get_subjects()


def test_a_certificate_is_accepted_until_it_ends(tmp_path: Path):
    authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    (tmp_path / "access.yaml").write_text('rules: [{allow: developer, to: "User:caller", on: "*"}]\n')

    def login(issuer: Authority, name: str, *, days: float = 1) -> Login:
        kept = f"{issuer.file.stem}-{name}-{days}"  # files that no other client reads
        issued = issuer.issue(kept, subject=f"CN={name}", days=days)
        certificate, key = (str(path) for path in issued)
        trusted = str(authority.file)
        settings = {"ssl.ca.location": trusted, "ssl.certificate.location": certificate, "ssl.key.location": key}
        return Login(settings, None, tls=TlsSettings(ca_file=trusted, certificate_file=certificate, key_file=key))

    given = {
        "auth_file": str(tmp_path / "access.yaml"),
        "tls_client_certificates": "required",
        "tls_client_ca": str(authority.file),
        "tls_principal_rules": "RULE:CN=([a-z]+)/$1/",
    }
    with serving(tmp_path, authority, authority.issue("server"), **given) as server, asyncio.Runner() as runner:
        url = f"https://127.0.0.1:{server.port}"
        lasting = Clients(url, login(authority, "caller"), runner)
        assert lasting.statuses() == [200] * 4
        lasting.change_level()
        for seconds in (5, 20, 80):  # a busy machine may need more than the first for four requests
            brief = Clients(url, login(authority, "caller", days=seconds / 86400), runner)
            if brief.statuses() == [200] * 4:
                break
        else:
            pytest.fail("the certificate was never accepted")
        assert Clients(url, login(authority, "Nobody"), runner).statuses() == [401] * 4
        assert Clients(url, login(stranger, "caller"), runner).statuses() == [0] * 4
        wait_until(lambda: 200 not in brief.statuses(), what="the end of the certificate")  # 401, or no new connection
        assert lasting.statuses() == [200] * 4
