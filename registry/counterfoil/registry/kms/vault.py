"""HashiCorp Vault's transit engine as a key management service of the registry."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from counterfoil.schema.errors import KeyWrapFailed
from counterfoil.schema.keys.vault import VaultExchange, VaultReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from counterfoil.schema.keys.vault import VaultRequest, VaultScript, VaultSettings


class VaultKms:
    """Wraps with the transit engine of one Vault."""

    def __init__(self, settings: VaultSettings) -> None:
        self._settings = settings
        self._exchange = VaultExchange(settings, program="the registry")
        self._client: httpx.AsyncClient | None = None

    async def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> bytes:
        """Return ``plain`` encrypted, in Vault's text form."""
        return await self._run(self._exchange.wrap(key_id, props, plain))

    async def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""
        return await self._run(self._exchange.unwrap(key_id, props, wrapped))

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _run(self, script: VaultScript) -> bytes:
        try:
            request = next(script)
            while True:
                request = script.send(await self._post(request))
        except StopIteration as stop:
            result: bytes = stop.value
            return result

    async def _post(self, request: VaultRequest) -> VaultReply:
        import httpx

        headers = {"Content-Type": "application/json", **request.headers}
        try:
            answer = await self._connected().post(request.path, content=request.body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise KeyWrapFailed(
                f"Vault at {self._settings.address} cannot be reached: {str(error) or type(error).__name__}"
            ) from None
        return VaultReply(answer.status_code, answer.content)

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
