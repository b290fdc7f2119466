"""HashiCorp Vault's transit engine as a key management service.

The id of a key is its address, ``https://vault.example:8200/transit/keys/NAME``, as in Confluent's clients. The
registry sends requests to one Vault only, the one in its own settings: a caller chooses the id, which must not send the
token to another address.

Source: HashiCorp's documentation of the transit secrets engine (encrypt, decrypt) and of the AppRole method (login).
"""

from __future__ import annotations

import re
import ssl
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.errors import KeyAccessDenied, KeyWrapFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

_PATH: Final = re.compile(r"/((?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)+)keys/([A-Za-z0-9_-][A-Za-z0-9_.-]*)")
_TOKEN_PROPERTY: Final = "token.id"  # noqa: S105 - the name of a property, no token
_NAMESPACE_PROPERTY: Final = "namespace"
_REFUSALS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_MAX_REASON_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """The address of a Vault and the login: a token, or the role and secret ids of AppRole.

    The names are those of the environment that Vault's and Confluent's own programs read, see :meth:`of_environment`.
    """

    address: str | None = None
    token: str | None = field(default=None, repr=False)
    namespace: str | None = None
    role_id: str | None = None
    secret_id: str | None = field(default=None, repr=False)
    ca_file: str | None = None

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> VaultSettings:
        """Return the settings in the variables ``VAULT_…``; an empty one counts as not set."""
        names = ("ADDR", "TOKEN", "NAMESPACE", "APPROLE_ROLE_ID", "APPROLE_SECRET_ID", "CACERT")
        return cls(*(environment.get(f"VAULT_{name}") or None for name in names))


class VaultKms:
    """Wraps with the transit engine of one Vault."""

    def __init__(self, settings: VaultSettings) -> None:
        self._settings = settings
        self._token = settings.token
        self._client: httpx.AsyncClient | None = None

    async def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> bytes:
        """Return ``plain`` encrypted, in Vault's text form."""
        answer = await self._request("encrypt", key_id, props, {"plaintext": b64encode(plain).decode()})
        return _text(answer, "ciphertext", key_id).encode()

    async def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""
        ciphertext = wrapped.decode("utf-8", errors="replace")
        answer = await self._request("decrypt", key_id, props, {"ciphertext": ciphertext})
        try:
            return b64decode(_text(answer, "plaintext", key_id), validate=True)
        except ValueError:
            raise _unreadable(key_id) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _request(self, action: str, key_id: str, props: Mapping[str, str], body: dict[str, str]) -> Any:
        engine, name = self._place(key_id)
        namespace = props.get(_NAMESPACE_PROPERTY) or self._settings.namespace
        own = props.get(_TOKEN_PROPERTY)
        path = f"/v1/{engine}{action}/{name}"
        token = own or self._token
        answer = None
        if token:
            answer = await self._post(path, body, token=token, namespace=namespace)
        if (answer is None or answer.status_code in _REFUSALS) and not own and self._settings.role_id:
            token = self._token = await self._log_in(namespace)
            answer = await self._post(path, body, token=token, namespace=namespace)
        if answer is None:
            raise KeyAccessDenied(
                f"There is no token for the Vault key {key_id[:200]!r}; start the registry with the environment "
                "variable VAULT_TOKEN, or VAULT_APPROLE_ROLE_ID and VAULT_APPROLE_SECRET_ID"
            )
        return _checked(answer, f"The Vault key {key_id[:200]!r}")

    def _place(self, key_id: str) -> tuple[str, str]:
        """Return the engine's path and the key's name; raise ``KeyWrapFailed`` for a key of another Vault."""
        address = self._settings.address
        if address is None:
            raise KeyWrapFailed(
                f"The registry has no settings of a Vault for {key_id[:200]!r}; start it with the environment "
                "variable VAULT_ADDR"
            )
        beginning = address.rstrip("/")
        if not key_id.startswith(f"{beginning}/"):
            raise KeyWrapFailed(
                f"kmsKeyId {key_id[:200]!r} is not in the Vault that this registry uses; expected {beginning}/…"
            )
        found = _PATH.fullmatch(key_id.removeprefix(beginning))
        if found is None:
            raise KeyWrapFailed(
                f"kmsKeyId {key_id[:200]!r} is not the address of a transit key; expected {beginning}/transit/keys/NAME"
            )
        return found[1], found[2]

    async def _log_in(self, namespace: str | None) -> str:
        body = {"role_id": self._settings.role_id or "", "secret_id": self._settings.secret_id or ""}
        answer = await self._post("/v1/auth/approle/login", body, token=None, namespace=namespace)
        found = _checked(answer, "The registry's AppRole")
        token = found.get("auth", {}).get("client_token") if isinstance(found.get("auth"), dict) else None
        if not isinstance(token, str):
            raise KeyWrapFailed("Vault answered the registry's AppRole without a token")
        return token

    async def _post(
        self, path: str, body: dict[str, str], *, token: str | None, namespace: str | None
    ) -> httpx.Response:
        headers = {"X-Vault-Request": "true"}
        if token:
            headers["X-Vault-Token"] = token
        if namespace:
            headers["X-Vault-Namespace"] = namespace
        import httpx

        try:
            return await self._connected().post(path, json=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise KeyWrapFailed(
                f"Vault at {self._settings.address} cannot be reached: {str(error) or type(error).__name__}"
            ) from None

    def _connected(self) -> httpx.AsyncClient:
        """Return the client, which uses no redirects and no proxy, so that the token is sent to no other address."""
        if self._client is None:
            import httpx

            try:
                trusted = ssl.create_default_context(cafile=self._settings.ca_file)
            except OSError as error:
                raise KeyWrapFailed(f"VAULT_CACERT {self._settings.ca_file!r} cannot be read: {error}") from None
            address = self._settings.address or ""
            self._client = httpx.AsyncClient(base_url=address, verify=trusted, trust_env=False, timeout=None)  # noqa: S113 - the caller bounds all of it
        return self._client


def _checked(answer: httpx.Response, what: str) -> Any:
    """Return the JSON object in a response; raise an error for a response without one."""
    try:
        found = answer.json()
    except ValueError:
        found = None
    if answer.status_code in _REFUSALS:
        raise KeyAccessDenied(f"{what} is refused to the registry by Vault: {_reason(found)}")
    if not answer.is_success or not isinstance(found, dict):
        raise KeyWrapFailed(f"{what} cannot be used: Vault answered {answer.status_code}: {_reason(found)}")
    return found


def _reason(found: Any) -> str:
    errors = found.get("errors") if isinstance(found, dict) else None
    return (", ".join(map(str, errors)) if isinstance(errors, list) else "")[:_MAX_REASON_CHARS] or "it did not say why"


def _text(answer: Any, name: str, key_id: str) -> str:
    data = answer.get("data")
    found = data.get(name) if isinstance(data, dict) else None
    if not isinstance(found, str):
        raise _unreadable(key_id)
    return found


def _unreadable(key_id: str) -> KeyWrapFailed:
    return KeyWrapFailed(f"Vault's answer about the key {key_id[:200]!r} is not what its transit engine gives")
