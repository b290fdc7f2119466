"""How a client's settings are said: arguments, environment, Confluent's dict; and what is refused."""

from __future__ import annotations

import pickle

import pytest

from counterfoil.sdk import (
    BasicAuth,
    BearerToken,
    ClientCredentials,
    InvalidSettings,
    Registry,
    RegistrySettings,
    RegistryUnavailable,
    TokenFile,
    UnexpectedReply,
)
from counterfoil.sdk.client.settings_sources import settings_from_confluent, settings_from_environment


def test_the_defaults_are_bounded():
    settings = RegistrySettings.of("http://r:8081")
    assert (settings.connect_timeout_s, settings.read_timeout_s, settings.retry.retries) == (2.0, 10.0, 3)
    assert settings.retry.total_s == 30.0
    assert (settings.cache.latest_ttl_s, settings.cache.capacity) == (60.0, 1000)


@pytest.mark.parametrize("urls", ["http://a:1, https://b/ccompat/v7", ["http://a:1", "https://b/ccompat/v7"]])
def test_several_urls(urls):
    assert RegistrySettings.of(urls).urls == ("http://a:1", "https://b/ccompat/v7")


def test_credentials_move_out_of_the_url():
    settings = RegistrySettings.of("https://us%40er:p%3Ass@host:81/base")
    assert settings.urls == ("https://host:81/base",)
    assert settings.auth == BasicAuth("us@er", "p:ss")


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        (("u", "p"), BasicAuth("u", "p")),
        ("token", BearerToken("token")),
        (BasicAuth("u", "p"), BasicAuth("u", "p")),
        (None, None),
    ],
)
def test_ways_to_say_auth(auth, expected):
    assert RegistrySettings.of("http://h", auth=auth).auth == expected


def test_secrets_are_not_shown():
    for auth in (("user", "hush"), "hush"):
        assert "hush" not in repr(RegistrySettings.of("http://h", auth=auth))
    with pytest.raises(InvalidSettings) as caught:
        RegistrySettings(urls=("http://user:hush@h",))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "host:8081", "ftp://h", "http://", "http://h:port", "http://h?x=1", "http://h#f", "http://[::1", []]
)
def test_what_is_no_url_is_refused(url):
    with pytest.raises(InvalidSettings) as caught:
        Registry(url)
    assert caught.value.setting == "url"


@pytest.mark.parametrize("proxy", ["ftp://p", "nonsense", "socks5://p:1", "http://"])
def test_what_is_no_proxy_is_refused(proxy):
    with pytest.raises(InvalidSettings) as caught:
        RegistrySettings(urls=("http://h",), proxy=proxy)
    assert caught.value.setting == "proxy"


@pytest.mark.parametrize("header", [("X", "ü"), ("X", "a\nb"), ("ü", "a"), ("a b", "a"), ("", "a"), ("X", 5)])
def test_a_header_that_cannot_be_sent_is_refused(header):
    with pytest.raises(InvalidSettings) as caught:
        RegistrySettings(urls=("http://h",), headers=dict([header]))
    assert caught.value.setting == header[0]


@pytest.mark.parametrize("token", ["hush\n", "hush☃"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(token):
    with pytest.raises(InvalidSettings, match="Authorization") as caught:
        Registry("http://h", auth=token)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("options", [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"retries": -1}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(InvalidSettings, match="expected"):
        Registry("http://h", **options)


def test_a_short_time_out_bounds_connecting_too():
    settings = RegistrySettings.of("http://h", timeout_s=0.5)
    assert (settings.connect_timeout_s, settings.read_timeout_s) == (0.5, 0.5)


def test_arguments_change_whole_settings():
    base = RegistrySettings.of("http://u:p@h", retries=9)
    changed = Registry(base, auth="token", timeout_s=1).settings
    assert (changed.urls, changed.auth, changed.retry.retries) == (("http://h",), BearerToken("token"), 9)


def test_settings_travel_to_other_processes():
    settings = RegistrySettings.of("http://u:p@h", retries=9)
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_unavailable_travels_to_other_processes():
    error = pickle.loads(pickle.dumps(RegistryUnavailable("gone", url="http://h/", attempts=3)))
    assert (str(error), error.url, error.attempts) == ("gone", "http://h/", 3)
    odd = UnexpectedReply("odd", url="http://h/", attempts=1, status=404, problem="no JSON")
    assert vars(pickle.loads(pickle.dumps(odd))) == vars(odd)


# --- environment ---------------------------------------------------------------------------------------------------

PREFIX = "COUNTERFOIL_REGISTRY_"


def test_the_environment_is_read_when_asked():
    found = settings_from_environment(
        {
            f"{PREFIX}URL": "http://a,http://b",
            f"{PREFIX}USER": "u",
            f"{PREFIX}PASSWORD": "p",
            f"{PREFIX}TIMEOUT_S": "1.5",
            f"{PREFIX}RETRIES": "0",
            f"{PREFIX}CA_FILE": "/ca.pem",
            f"{PREFIX}LATEST_TTL_S": "5",
            f"{PREFIX}PORT_8081_TCP": "tcp://set.by.kubernetes:8081",
            f"{PREFIX}PROXY": "",
        }
    )
    assert found.urls == ("http://a", "http://b")
    assert found.auth == BasicAuth("u", "p")
    assert (found.read_timeout_s, found.retry.retries, found.cache.latest_ttl_s) == (1.5, 0, 5.0)
    assert (found.tls.ca_file, found.proxy) == ("/ca.pem", None)


def test_a_token_in_the_environment():
    registry = Registry.from_environment({f"{PREFIX}URL": "http://a", f"{PREFIX}TOKEN": "t"})
    assert registry.settings.auth == BearerToken("t")


@pytest.mark.parametrize(
    ("variables", "setting"),
    [
        ({}, "URL"),
        ({"URL": "http://a", "RETRIES": "many"}, "RETRIES"),
        ({"URL": "http://a", "RETRIES": "1.5"}, "RETRIES"),
        ({"URL": "http://a", "TIMEOUT_S": "soon"}, "TIMEOUT_S"),
        ({"URL": "http://a", "USER": "u", "TOKEN": "t"}, "TOKEN"),
    ],
)
def test_a_wrong_variable_is_named(variables, setting):
    with pytest.raises(InvalidSettings) as caught:
        settings_from_environment({f"{PREFIX}{name}": value for name, value in variables.items()})
    assert caught.value.setting == f"{PREFIX}{setting}"
    assert f"{PREFIX}{setting}" in str(caught.value)


# --- Confluent's dict ----------------------------------------------------------------------------------------------


def test_confluents_dict_is_understood():
    found = settings_from_confluent(
        {
            "url": "https://a,https://b",
            "basic.auth.user.info": "key:se:cret",
            "timeout": 4,
            "max.retries": 2,
            "retries.wait.ms": 100,
            "retries.max.wait.ms": 3000,
            "ssl.ca.location": "/ca.pem",
            "ssl.certificate.location": "/c.pem",
            "ssl.key.location": "/k.pem",
            "cache.capacity": 10,
            "cache.latest.ttl.sec": 7,
        }
    )
    assert found.urls == ("https://a", "https://b")
    assert found.auth == BasicAuth("key", "se:cret")
    assert found.read_timeout_s == 4
    assert (found.retry.retries, found.retry.first_pause_s, found.retry.max_pause_s) == (2, 0.1, 3.0)
    assert (found.tls.ca_file, found.tls.certificate_file, found.tls.key_file) == ("/ca.pem", "/c.pem", "/k.pem")
    assert (found.cache.capacity, found.cache.latest_ttl_s) == (10, 7.0)


def test_confluents_bearer_token_and_its_headers():
    found = Registry.from_confluent(
        {
            "url": "https://a",
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": "t",
            "bearer.auth.logical.cluster": "lsrc-1",
            "bearer.auth.identity.pool.id": "pool-1",
        }
    ).settings
    assert found.auth == BearerToken("t")
    assert dict(found.headers) == {"target-sr-cluster": "lsrc-1", "Confluent-Identity-Pool-Id": "pool-1"}


def test_confluents_way_to_turn_verification_off():
    found = settings_from_confluent({"url": "https://a", "ssl.ca.location": False})
    assert (found.tls.verify, found.tls.ca_file) == (False, None)


@pytest.mark.parametrize(
    ("conf", "setting"),
    [
        ({"url": "http://a", "schema.registry.url": "http://a"}, "schema.registry.url"),
        ({}, "url"),
        ({"url": 7}, "url"),
        ({"url": "http://a", "timeout": True}, "timeout"),
        ({"url": "http://a", "max.retries": "x"}, "max.retries"),
        ({"url": "http://a", "basic.auth.user.info": "nocolon"}, "basic.auth.user.info"),
        ({"url": "http://a", "basic.auth.user.info": "a:b", "bearer.auth.token": "t"}, "bearer.auth.token"),
        ({"url": "http://a", "bearer.auth.credentials.source": "OAUTHBEARER"}, "bearer.auth.issuer.endpoint.url"),
        ({"url": "http://a", "bearer.auth.credentials.source": "CUSTOM"}, "bearer.auth.custom.provider.function"),
        (
            {"url": "http://a", "bearer.auth.credentials.source": "OAUTHBEARER_AZURE_IMDS"},
            "bearer.auth.issuer.endpoint.query",
        ),
        ({"url": "http://a", "bearer.auth.credentials.source": "STATIC_TOKEN"}, "bearer.auth.token"),
        ({"url": "http://a", "basic.auth.credentials.source": "SASL_INHERIT"}, "basic.auth.credentials.source"),
    ],
)
def test_a_wrong_key_is_named_and_its_value_is_not_shown(conf, setting):
    with pytest.raises(InvalidSettings) as caught:
        settings_from_confluent(conf)
    assert caught.value.setting == setting
    assert setting in str(caught.value)
    assert "nocolon" not in str(caught.value)


def test_other_ways_in_confluents_dict():
    found = settings_from_confluent(
        {
            "url": "https://a",
            "bearer.auth.credentials.source": "OAUTHBEARER",
            "bearer.auth.issuer.endpoint.url": "https://login.example/token",
            "bearer.auth.client.id": "c",
            "bearer.auth.client.secret": "s",
            "bearer.auth.scope": "registry",
        }
    )
    assert found.auth == ClientCredentials(
        token_url="https://login.example/token", client_id="c", client_secret="s", scope="registry"
    )
    inherited = {"basic.auth.credentials.source": "SASL_INHERIT", "sasl.username": "u", "sasl.password": "p:q"}
    assert settings_from_confluent({"url": "http://a", **inherited}).auth == BasicAuth("u", "p:q")


def test_confluents_function_gets_its_config():
    found = settings_from_confluent(
        {
            "url": "http://a",
            "bearer.auth.credentials.source": "CUSTOM",
            "bearer.auth.custom.provider.function": lambda config: {"bearer.auth.token": config["t"] + "!"},
            "bearer.auth.custom.provider.config": {"t": "token"},
        }
    )
    assert callable(found.auth)
    assert found.auth() == "token!"


def test_other_ways_in_the_environment(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s:ecret\n")
    url = {f"{PREFIX}URL": "http://a"}
    assert settings_from_environment({**url, f"{PREFIX}TOKEN_FILE": "t"}).auth == TokenFile("t")
    by_file = {**url, f"{PREFIX}USER": "u", f"{PREFIX}PASSWORD_FILE": str(secret)}
    assert settings_from_environment(by_file).auth == BasicAuth("u", "s:ecret")
    oauth = {
        "OAUTH_TOKEN_URL": "https://login.example/token",
        "OAUTH_CLIENT_ID": "c",
        "OAUTH_CLIENT_SECRET_FILE": str(secret),
        "OAUTH_AUDIENCE": "registry",
    }
    found = settings_from_environment({**url, **{f"{PREFIX}{name}": value for name, value in oauth.items()}})
    assert found.auth == ClientCredentials(
        token_url="https://login.example/token", client_id="c", client_secret="s:ecret", audience="registry"
    )


@pytest.mark.parametrize(
    ("variables", "setting"),
    [
        ({"USER": "u", "TOKEN_FILE": "t"}, "TOKEN_FILE"),
        ({"TOKEN": "t", "OAUTH_TOKEN_URL": "https://a"}, "OAUTH_TOKEN_URL"),
        ({"USER": "u", "PASSWORD": "p", "PASSWORD_FILE": "f"}, "PASSWORD_FILE"),
        ({"USER": "u", "PASSWORD_FILE": "/nowhere/at/all"}, "PASSWORD_FILE"),
    ],
)
def test_ways_that_contradict_each_other(variables, setting):
    with pytest.raises(InvalidSettings) as caught:
        settings_from_environment(
            {f"{PREFIX}URL": "http://a", **{f"{PREFIX}{name}": value for name, value in variables.items()}}
        )
    assert caught.value.setting == f"{PREFIX}{setting}"
