"""``Authorization`` and the headers beside it, for each request, as scripts: fixed, from a file, or requested.

A token that ends is renewed when four fifths of its time are over, beside the calls, so that none waits for it. A
response 401 renews it once and repeats the request once.
"""

from __future__ import annotations

import json
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Final, Protocol
from urllib.parse import quote_plus, urlencode

from counterfoil.schema.datum import JsonObject
from counterfoil.schema.errors import Unauthorized, needed_by
from counterfoil.sdk.client.cache import Cache
from counterfoil.sdk.client.settings import (
    Auth,
    BasicAuth,
    BearerToken,
    ClientCredentials,
    Headers,
    ManagedIdentity,
    TokenFile,
    TokenFunction,
    bearer,
)
from counterfoil.sdk.errors import InvalidSettings, RegistryUnavailable
from counterfoil.sdk.processes import Locking
from counterfoil.sdk.script import Aside, CallFunction, Pause, Script, Send
from counterfoil.sdk.transport import RETRIED, Clock, NoReply, Reply, Request, RetrySettings, pause_after

_DUE: Final = 0.8
_UNKNOWN_LIFE_S: Final = 300.0
"""How long a token is used whose server does not say how long it may be."""
_KEY: Final = "token"
_SHOWN_CHARACTERS: Final = 200


class RequestCredentials(Protocol):
    """The credentials of one client."""

    def headers(self) -> Script[Headers]:
        """Return ``Authorization``, and the headers that belong to it; no header without credentials."""

    def renewed(self, refused: Headers) -> Script[bool]:
        """Return whether there are other headers now than ``refused``, which the registry answered with 401."""


def credentials_of(auth: Auth | None, clock: Clock, retry: RetrySettings) -> RequestCredentials:
    """Return the credentials that a client sends; ``retry`` says how often a token address is requested again."""
    match auth:
        case None:
            return _Fixed({})
        case BasicAuth() | BearerToken():
            return _Fixed(_authorization(auth.header))
        case TokenFile(path):
            return _FromFile(path)
        case ClientCredentials() | ManagedIdentity():
            return _Requested(auth, clock, retry)
        case _:
            return _FromFunction(auth)


class _Fixed:
    """Headers that do not change."""

    def __init__(self, found: Headers) -> None:
        self._headers = found

    def headers(self) -> Script[Headers]:
        yield from ()
        return self._headers

    def renewed(self, refused: Headers) -> Script[bool]:
        del refused
        yield from ()
        return False


class _FromFile:
    """The token in a file. Its time of change is looked up for each request."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._known: tuple[object, str] | None = None

    def headers(self) -> Script[Headers]:
        value: str = yield CallFunction(self._read)
        return _authorization(value)

    def renewed(self, refused: Headers) -> Script[bool]:
        return (yield from self.headers()) != refused

    def _read(self) -> str:
        try:
            status = self._path.stat()
            version = (status.st_mtime_ns, status.st_ino, status.st_size)
            if self._known is None or self._known[0] != version:
                self._known = (version, bearer(self._path.read_text("ascii").strip()))
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else "it is not ASCII text"
            raise InvalidSettings(f"The token file {self._path} cannot be read: {problem}", setting="auth") from None
        return self._known[1]


class _FromFunction:
    """The token, or the headers, that a function of the user returns; it is called for each request."""

    def __init__(self, function: TokenFunction) -> None:
        self._function = function

    def headers(self) -> Script[Headers]:
        found = yield CallFunction(self._function)
        is_alone = not isinstance(found, Mapping)
        if not all(map(_is_plain, [found] if is_alone else [*found, *found.values()])):
            raise InvalidSettings(
                f"The function for the token returned a {type(found).__name__}; expected a text of printable ASCII, or "
                "a dict of such texts",
                setting="auth",
            )
        return _authorization(bearer(found)) if is_alone else found

    def renewed(self, refused: Headers) -> Script[bool]:
        return (yield from self.headers()) != refused


def _authorization(value: str) -> Headers:
    return {"Authorization": value}


def _is_plain(text: object) -> bool:
    return isinstance(text, str) and text.isascii() and text.isprintable()


@dataclass(frozen=True, slots=True)
class _Token:
    """A token's headers, and when it is due to be renewed and ends, in seconds of the client's clock."""

    headers: Headers
    due_s: float
    ends_s: float


class _Requested(Locking):
    """A token that is requested from a token address; one request for all threads or tasks."""

    def __init__(self, auth: ClientCredentials | ManagedIdentity, clock: Clock, retry: RetrySettings) -> None:
        self._auth = auth
        self._url = auth.token_url if isinstance(auth, ClientCredentials) else auth.url
        self._retry = retry
        self._clock = clock
        self._requests: Cache[_Token] = Cache(1, clock.monotonic, ttl_s=0.0)  # for its single flight; it keeps nothing
        self._token: _Token | None = None
        super().__init__()

    def make_locks(self) -> None:
        self._lock = Lock()
        self._is_renewing = False

    def headers(self) -> Script[Headers]:
        token = self._token
        now_s = self._clock.monotonic()
        if token is None or now_s >= token.ends_s:
            token = yield from self._renew()
        elif now_s >= token.due_s and self._begins():
            yield Aside(self._renew_aside())
        return token.headers

    def renewed(self, refused: Headers) -> Script[bool]:
        token = self._token
        if token is None or token.headers == refused:
            token = yield from self._renew()
        return token.headers != refused

    def _begins(self) -> bool:
        """Return whether the caller is the one that renews the token."""
        with self._lock:
            begins, self._is_renewing = not self._is_renewing, True
        return begins

    def _renew_aside(self) -> Script[None]:
        """Renew the token while the old one is used. A failure is raised by the call that finds the old one ended."""
        try:
            yield from self._renew()
        except (Unauthorized, RegistryUnavailable):
            pass
        finally:
            self._is_renewing = False

    def _renew(self) -> Script[_Token]:
        self._token = token = yield from self._requests.fetch(_KEY, self._request)
        return token

    def _request(self) -> Script[_Token]:
        began_s = self._clock.monotonic()
        for round_number in range(self._retry.retries + 1):
            started_s = self._clock.monotonic()
            outcome = yield from self._attempt()
            if isinstance(outcome, Reply) and outcome.status not in RETRIED:
                break
            pause_s = pause_after(outcome, round_number, self._retry, self._clock)
            is_in_time = pause_s < self._retry.total_s - (self._clock.monotonic() - began_s)
            if round_number == self._retry.retries or not is_in_time:
                break
            yield Pause(pause_s)
        attempts, url = round_number + 1, self._url
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        if isinstance(outcome, NoReply):
            problem = f"The token address {url} did not answer: {outcome.problem} ({tries})"
            raise RegistryUnavailable(problem, url=url, attempts=attempts) from outcome
        if outcome.status >= HTTPStatus.INTERNAL_SERVER_ERROR or outcome.status in RETRIED:
            problem = f"The token address {url} answered {outcome.status} ({tries})"
            raise RegistryUnavailable(problem, url=url, attempts=attempts)
        return _read_token(outcome, url, started_s)

    def _attempt(self) -> Script[Reply | NoReply]:
        """Request a token once; a statement that is signed is a new one for each request."""
        request = yield CallFunction(lambda: _token_request(self._auth, self._clock.wall()))
        try:
            reply: Reply = yield Send(request)
        except NoReply as error:
            return error
        return reply


def _token_request(auth: ClientCredentials | ManagedIdentity, now_s: float) -> Request:
    if isinstance(auth, ManagedIdentity):
        return Request("GET", auth.url, {"Accept": "application/json", "Metadata": "true"}, None)
    wanted = {"scope": auth.scope, "audience": auth.audience, "resource": auth.resource}
    form = {"grant_type": "client_credentials", **{name: value for name, value in wanted.items() if value}}
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    match auth.method:
        case "basic":  # both parts are form-encoded first: RFC 6749, section 2.3.1
            pair = f"{quote_plus(auth.client_id)}:{quote_plus(auth.client_secret or '')}"
            headers["Authorization"] = "Basic " + b64encode(pair.encode()).decode("ascii")
        case "post":
            form |= {"client_id": auth.client_id, "client_secret": auth.client_secret or ""}
        case "private_key_jwt":
            form |= {
                "client_id": auth.client_id,
                "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                "client_assertion": _signed_statement(auth, now_s),
            }
    return Request("POST", auth.token_url, headers, urlencode(form).encode("ascii"))


def _read_token(reply: Reply, token_url: str, started_s: float) -> _Token:
    """Return the token in a reply; raise ``Unauthorized`` with OAuth's error if there is none."""
    try:
        document = json.loads(reply.body)
    except ValueError:
        document = None
    fields: JsonObject = document if isinstance(document, dict) else {}
    token = fields.get("access_token")
    if reply.status != HTTPStatus.OK or not isinstance(token, str) or not token.isascii() or not token.isprintable():
        named = (fields.get(name) for name in ("error", "error_description"))
        reason = ": ".join(text[:_SHOWN_CHARACTERS] for text in named if isinstance(text, str))
        raise Unauthorized(
            f"The token address {token_url} gave no token ({reason or f'status {reply.status}'}); check client_id and "
            "the secret or key",
            status=HTTPStatus.UNAUTHORIZED,
        )
    life = fields.get("expires_in")
    if isinstance(life, str) and life.isascii() and life.isdigit():  # as Azure writes it
        life = int(life[:9])
    is_number = isinstance(life, (int, float)) and not isinstance(life, bool) and life > 0
    life_s = float(life) if is_number else _UNKNOWN_LIFE_S  # type: ignore[arg-type] # it is a number
    return _Token(_authorization(bearer(token)), started_s + _DUE * life_s, started_s + life_s)


def _signed_statement(auth: ClientCredentials, now_s: float) -> str:
    """Return the signed statement with which the client proves itself (RFC 7523, section 2.2)."""
    with needed_by("private_key_jwt", extra="crypto"):
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        key = load_pem_private_key(Path(str(auth.private_key_file)).read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidSettings(
            f"The key file {auth.private_key_file} cannot be used: {error}", setting="private_key_file"
        ) from None
    is_rsa = isinstance(key, rsa.RSAPrivateKey)
    header = {"alg": "RS256" if is_rsa else "ES256", "typ": "JWT", **({"kid": auth.key_id} if auth.key_id else {})}
    claims = {
        "iss": auth.client_id,
        "sub": auth.client_id,
        "aud": auth.token_url,
        "jti": secrets.token_urlsafe(16),
        "iat": int(now_s),
        "exp": int(now_s) + 60,
    }
    signed = f"{_base64url(json.dumps(header).encode())}.{_base64url(json.dumps(claims).encode())}"
    if isinstance(key, rsa.RSAPrivateKey):
        signature = key.sign(signed.encode(), padding.PKCS1v15(), SHA256())
    elif isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        parts = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(SHA256())))
        signature = b"".join(part.to_bytes(32, "big") for part in parts)
    else:
        raise InvalidSettings(
            f"The key in {auth.private_key_file} is a {type(key).__name__}; expected RSA or EC P-256",
            setting="private_key_file",
        )
    return f"{signed}.{_base64url(signature)}"


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
