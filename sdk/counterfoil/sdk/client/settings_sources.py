"""Reading settings from environment variables, and from Confluent's dict with dotted names."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from counterfoil.sdk.client.settings import (
    Auth,
    BasicAuth,
    BearerToken,
    ClientCredentials,
    ManagedIdentity,
    RegistrySettings,
    TlsSettings,
    TokenFile,
    bearer,
)
from counterfoil.sdk.errors import InvalidSettings

PREFIX: Final = "COUNTERFOIL_REGISTRY_"
"""The prefix of the environment's variables."""

_CONFLUENT_KEYS: Final = (
    "url",
    "basic.auth.user.info",
    "basic.auth.credentials.source",
    "sasl.username",
    "sasl.password",
    "bearer.auth.credentials.source",
    "bearer.auth.token",
    "bearer.auth.issuer.endpoint.url",
    "bearer.auth.issuer.endpoint.query",
    "bearer.auth.client.id",
    "bearer.auth.client.secret",
    "bearer.auth.scope",
    "bearer.auth.custom.provider.function",
    "bearer.auth.custom.provider.config",
    "bearer.auth.logical.cluster",
    "bearer.auth.identity.pool.id",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
    "proxy",
    "timeout",
    "max.retries",
    "retries.wait.ms",
    "retries.max.wait.ms",
    "cache.capacity",
    "cache.latest.ttl.sec",
)

_MS_PER_S: Final = 1000
_AZURE_METADATA: Final = "http://169.254.169.254/metadata/identity/oauth2/token"
_HEADER_BY_KEY: Final = {
    "bearer.auth.logical.cluster": "target-sr-cluster",
    "bearer.auth.identity.pool.id": "Confluent-Identity-Pool-Id",
}


class _Source:
    """Named values of unknown type, read as the type of a setting; errors name the setting as its source spells it."""

    def __init__(self, value_by_name: Mapping[str, object], prefix: str = "") -> None:
        self._value_by_name = value_by_name
        self._prefix = prefix

    def text(self, name: str) -> str | None:
        """Return the string, or None where it is not set; an empty one is not set."""
        value = self._value_by_name.get(self._prefix + name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise self.misfit(name, "a string")
        return value

    def seconds(self, name: str) -> float | None:
        """Return the number, or None where it is not set."""
        value = self._value_by_name.get(self._prefix + name)
        if value is None or value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.misfit(name, "a number")
        try:
            return float(value)
        except ValueError:
            raise self.misfit(name, "a number") from None

    def count(self, name: str) -> int | None:
        """Return the whole number, or None where it is not set."""
        value = self.seconds(name)
        if value is not None and not value.is_integer():
            raise self.misfit(name, "a whole number")
        return None if value is None else int(value)

    def secret(self, name: str) -> str | None:
        """Return the text of the setting, or the content of the file that the setting ``…_FILE`` names."""
        path = self.text(f"{name}_FILE")
        if path is None:
            return self.text(name)
        if self.text(name) is not None:
            raise InvalidSettings(
                f"{self._prefix}{name} and {self._prefix}{name}_FILE are both set; expected one",
                setting=f"{self._prefix}{name}_FILE",
            )
        try:
            return Path(path).read_text("utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise InvalidSettings(
                f"The file {path} of {self._prefix}{name}_FILE cannot be read: {problem}",
                setting=f"{self._prefix}{name}_FILE",
            ) from None

    def misfit(self, name: str, expected: str) -> InvalidSettings:
        """Return the error that names the setting; its value is not repeated, since it may be a secret."""
        spelt = self._prefix + name
        return InvalidSettings(f"The setting {spelt} is not {expected}", setting=spelt)


def settings_from_environment(
    environment: Mapping[str, str] | None = None, *, prefix: str = PREFIX
) -> RegistrySettings:
    """Return the settings in the ``COUNTERFOIL_REGISTRY_…`` variables of this process, or of ``environment``.

    ``…_URL`` is required; ``…_USER`` with ``…_PASSWORD`` or ``…_PASSWORD_FILE`` (or ``name:password`` in ``…_USER``
    alone), ``…_TOKEN``, ``…_TOKEN_FILE``, or ``…_OAUTH_TOKEN_URL`` with ``…_OAUTH_CLIENT_ID``,
    ``…_OAUTH_CLIENT_SECRET`` or ``…_OAUTH_CLIENT_SECRET_FILE``, ``…_OAUTH_SCOPE`` and ``…_OAUTH_AUDIENCE``;
    ``…_TIMEOUT_S``, ``…_RETRIES``, ``…_CA_FILE``, ``…_CERTIFICATE_FILE``, ``…_KEY_FILE``, ``…_KEY_PASSWORD``,
    ``…_PROXY``, ``…_LATEST_TTL_S`` are read when set. Other names are ignored, since Kubernetes sets some for every
    service. ``prefix`` is the prefix of the names for another registry. Raises ``InvalidSettings``.
    """
    source = _Source(os.environ if environment is None else environment, prefix)
    url = source.text("URL")
    if url is None:
        raise InvalidSettings(
            f"{prefix}URL is not set; expected one such as http://localhost:8081", setting=f"{prefix}URL"
        )
    settings = RegistrySettings.of(
        url,
        auth=_environment_auth(source, prefix),
        timeout_s=source.seconds("TIMEOUT_S"),
        retries=source.count("RETRIES"),
    )
    latest_ttl_s = source.seconds("LATEST_TTL_S")
    return replace(
        settings,
        tls=TlsSettings(
            ca_file=source.text("CA_FILE"),
            certificate_file=source.text("CERTIFICATE_FILE"),
            key_file=source.text("KEY_FILE"),
            key_password=source.text("KEY_PASSWORD"),
        ),
        proxy=source.text("PROXY"),
        cache=settings.cache if latest_ttl_s is None else replace(settings.cache, latest_ttl_s=latest_ttl_s),
    )


def _environment_auth(source: _Source, prefix: str) -> Auth | None:
    """Return the credentials; two ways of proving oneself are an ``InvalidSettings``."""
    ways = [name for name in ("USER", "TOKEN", "TOKEN_FILE", "OAUTH_TOKEN_URL") if source.text(name) is not None]
    if len(ways) > 1:
        both = " and ".join(f"{prefix}{name}" for name in ways)
        raise InvalidSettings(f"{both} are both set; expected one of them", setting=f"{prefix}{ways[1]}")
    match ways:
        case ["USER"]:
            return _environment_user(source)
        case ["TOKEN"]:
            return BearerToken(source.text("TOKEN") or "")
        case ["TOKEN_FILE"]:
            return TokenFile(source.text("TOKEN_FILE") or "")
        case ["OAUTH_TOKEN_URL"]:
            return ClientCredentials(
                token_url=source.text("OAUTH_TOKEN_URL") or "",
                client_id=source.text("OAUTH_CLIENT_ID") or "",
                client_secret=source.secret("OAUTH_CLIENT_SECRET"),
                scope=source.text("OAUTH_SCOPE"),
                audience=source.text("OAUTH_AUDIENCE"),
                tls=TlsSettings(ca_file=source.text("CA_FILE")),
            )
    return None


def _environment_user(source: _Source) -> BasicAuth:
    user, password = source.text("USER") or "", source.secret("PASSWORD")
    name, _, rest = user.partition(":")  # a user's name holds no colon: RFC 7617, section 2
    return BasicAuth(name, rest) if password is None else BasicAuth(user, password)


def settings_from_confluent(conf: Mapping[str, object]) -> RegistrySettings:
    """Return the settings in a dict as ``confluent_kafka.schema_registry.SchemaRegistryClient`` takes it.

    A key that this client does not have raises ``InvalidSettings``, so that no setting is ignored silently.
    """
    _refuse_unknown(set(conf), set(_CONFLUENT_KEYS))
    source = _Source(conf)
    url = source.text("url")
    if url is None:
        raise InvalidSettings("The setting url is missing; expected one such as http://localhost:8081", setting="url")
    settings = RegistrySettings.of(
        url,
        auth=_confluent_auth(source, conf),
        timeout_s=source.seconds("timeout"),
        retries=source.count("max.retries"),
    )
    return replace(
        settings,
        headers=_confluent_headers(source, conf),
        tls=_confluent_tls(source, conf.get("ssl.ca.location")),
        proxy=source.text("proxy"),
        retry=replace(
            settings.retry,
            first_pause_s=_or(_seconds_of_ms(source, "retries.wait.ms"), settings.retry.first_pause_s),
            max_pause_s=_or(_seconds_of_ms(source, "retries.max.wait.ms"), settings.retry.max_pause_s),
        ),
        cache=replace(
            settings.cache,
            capacity=int(_or(source.count("cache.capacity"), settings.cache.capacity)),
            latest_ttl_s=_or(source.seconds("cache.latest.ttl.sec"), settings.cache.latest_ttl_s),
        ),
    )


def _refuse_unknown(given: set[str], known: set[str]) -> None:
    unknown = sorted(given - known)
    if unknown:
        raise InvalidSettings(
            f"Unknown setting {', '.join(unknown)}; known are {', '.join(sorted(known))}", setting=unknown[0]
        )


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _seconds_of_ms(source: _Source, name: str) -> float | None:
    value = source.seconds(name)
    return None if value is None else value / _MS_PER_S


def _confluent_auth(source: _Source, conf: Mapping[str, object]) -> Auth | None:
    basic, bearer = _confluent_basic(source), _confluent_bearer(source, conf)
    if basic is not None and bearer is not None:
        raise InvalidSettings(
            "basic.auth.user.info and bearer.auth.token are both set; expected one", setting="bearer.auth.token"
        )
    return basic or bearer


def _confluent_basic(source: _Source) -> BasicAuth | None:
    user_info = source.text("basic.auth.user.info")
    match source.text("basic.auth.credentials.source"):
        case None | "URL" | "USER_INFO":
            if user_info is None:
                return None
        case "SASL_INHERIT":
            user, password = source.text("sasl.username"), source.text("sasl.password")
            if user is None or password is None:
                problem = "basic.auth.credentials.source is SASL_INHERIT, which needs sasl.username and sasl.password"
                raise InvalidSettings(problem, setting="basic.auth.credentials.source")
            return BasicAuth(user, password)
        case _:
            raise source.misfit("basic.auth.credentials.source", "URL, USER_INFO or SASL_INHERIT")
    user, colon, password = user_info.partition(":")
    if not colon:
        raise source.misfit("basic.auth.user.info", "a user and a password with a colon between")
    return BasicAuth(user, password)


def _confluent_bearer(source: _Source, conf: Mapping[str, object]) -> Auth | None:
    token = source.text("bearer.auth.token")
    match source.text("bearer.auth.credentials.source"):
        case None:
            return None if token is None else BearerToken(token)
        case "STATIC_TOKEN":
            return BearerToken(_needed(source, "bearer.auth.token", "STATIC_TOKEN"))
        case "OAUTHBEARER":
            return ClientCredentials(
                token_url=_needed(source, "bearer.auth.issuer.endpoint.url", "OAUTHBEARER"),
                client_id=_needed(source, "bearer.auth.client.id", "OAUTHBEARER"),
                client_secret=_needed(source, "bearer.auth.client.secret", "OAUTHBEARER"),
                scope=source.text("bearer.auth.scope"),
                tls=_confluent_tls(source, conf.get("ssl.ca.location")),
            )
        case "OAUTHBEARER_AZURE_IMDS":
            return _confluent_managed_identity(source)
        case "CUSTOM":
            return _confluent_function(conf)
    known = "STATIC_TOKEN, OAUTHBEARER, OAUTHBEARER_AZURE_IMDS or CUSTOM"
    raise source.misfit("bearer.auth.credentials.source", known)


def _confluent_managed_identity(source: _Source) -> ManagedIdentity:
    url, query = source.text("bearer.auth.issuer.endpoint.url"), source.text("bearer.auth.issuer.endpoint.query")
    if url is None and query is None:
        _needed(source, "bearer.auth.issuer.endpoint.query", "OAUTHBEARER_AZURE_IMDS")
    bare = url or _AZURE_METADATA
    return ManagedIdentity(bare if query is None else f"{bare.partition('?')[0]}?{query}")


def _needed(source: _Source, name: str, way: str) -> str:
    value = source.text(name)
    if value is None:
        raise InvalidSettings(f"{name} is missing; {way} needs it", setting=name)
    return value


def _confluent_function(conf: Mapping[str, object]) -> Auth:
    """Return a user's function of Confluent's kind: it takes its config and returns a dict with the token."""
    name = "bearer.auth.custom.provider.function"
    function, config = conf.get(name), conf.get("bearer.auth.custom.provider.config")
    if not callable(function):
        raise InvalidSettings(f"{name} is not a function; CUSTOM needs one", setting=name)

    def proof_of(answer: object) -> str | Mapping[str, str]:
        fields = answer if isinstance(answer, dict) else {}
        token = fields.get("bearer.auth.token")
        if not isinstance(token, str):
            raise InvalidSettings(f"{name} returned no dict with a text 'bearer.auth.token'", setting=name)
        others = _confluent_headers(_Source(fields), fields)
        return {"Authorization": bearer(token), **others} if others else token

    async def awaited(answer: Awaitable[object]) -> str | Mapping[str, str]:
        return proof_of(await answer)

    def prove() -> str | Mapping[str, str] | Awaitable[str | Mapping[str, str]]:
        answer = function(config)
        return awaited(answer) if isinstance(answer, Awaitable) else proof_of(answer)

    return prove


def _confluent_headers(source: _Source, conf: Mapping[str, object]) -> dict[str, str]:
    """Return the headers for a registry of Confluent's cloud; several identity pools are a list, or have commas."""
    pools = conf.get("bearer.auth.identity.pool.id")
    found = {header: source.text(key) for key, header in _HEADER_BY_KEY.items() if not isinstance(conf.get(key), list)}
    if isinstance(pools, list):
        if not all(isinstance(each, str) for each in pools):
            raise source.misfit("bearer.auth.identity.pool.id", "a string, or a list of strings")
        found[_HEADER_BY_KEY["bearer.auth.identity.pool.id"]] = ",".join(pools)
    return {header: value for header, value in found.items() if value is not None}


def _confluent_tls(source: _Source, ca_location: object) -> TlsSettings:
    verify = ca_location is not False  # in Confluent's dict: do not verify
    return TlsSettings(
        ca_file=source.text("ssl.ca.location") if verify else None,
        certificate_file=source.text("ssl.certificate.location"),
        key_file=source.text("ssl.key.location"),
        key_password=source.text("ssl.key.password"),
        verify=verify,
    )
