"""One request to a webhook: signed, to an address that is checked, without redirects, and with a limit of time.

Source: Standard Webhooks, https://www.standardwebhooks.com (signatures); CloudEvents 1.0, structured mode.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import socket
import ssl
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.registry.domain.contracts.networks import is_listed, is_permitted, parse_address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import httpx

    from counterfoil.registry.domain.contracts.networks import Address, Network
    from counterfoil.schema.rest.object_forms import Document

    Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

TIMEOUT_S: Final = 5.0
_CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request: the HTTP status, 0 without an answer, and why it counts as failed."""

    status: int = 0
    error: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the receiver has accepted it."""
        return not self.error


class Refused(Exception):
    """The address may not be used; the text says why."""


def signature(key: bytes, *, message_id: str, ts: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``; ``ts`` is in seconds.

    >>> key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    >>> body = b'{"test": 2432232314}'
    >>> signature(key, message_id="msg_p5jXN8AQM9LWM0D4loKWxJek", ts=1614265330, body=body)
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    digest = hmac.digest(key, f"{message_id}.{ts}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


async def resolve_name(host: str, port: int) -> list[str]:
    """Return the addresses of a host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class Sender:
    """Sends events. ``networks`` are those, beside the public one, that it may connect to.

    A name is resolved once, and the connection is made to one of the addresses that were checked.
    """

    def __init__(
        self, networks: Sequence[Network], *, resolve: Resolve = resolve_name, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._networks = networks
        self._resolve = resolve
        self._timeout_s = timeout_s

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        import httpx

        return httpx.AsyncClient(verify=ssl.create_default_context(), trust_env=False, timeout=self._timeout_s)

    async def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            await self._client.aclose()

    async def send(self, url: str, event: Document, *, key: bytes, ts: int) -> Answer:
        """Send an event, signed at ``ts`` (epoch s); the body of the answer is not read."""
        import httpx

        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._send(httpx.URL(url), event, key, ts)
        except TimeoutError:
            return Answer(error=f"there was no answer within {self._timeout_s:g} s")
        except Refused as refused:
            return Answer(error=str(refused))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            return Answer(error=str(error) or type(error).__name__)

    async def _send(self, url: httpx.URL, event: Document, key: bytes, ts: int) -> Answer:
        address = await self._address(url)
        body = json.dumps(event, ensure_ascii=False).encode()
        headers = {
            "Host": url.netloc.decode("ascii"),
            "Content-Type": _CONTENT_TYPE,
            "User-Agent": "counterfoil",
            "webhook-id": event["id"],
            "webhook-timestamp": str(ts),
            "webhook-signature": signature(key, message_id=event["id"], ts=ts, body=body),
        }
        request = self._client.build_request(
            "POST", url.copy_with(host=str(address)), content=body, headers=headers,
            extensions={"sni_hostname": url.host},
        )  # fmt: skip
        answer = await self._client.send(request, stream=True, follow_redirects=False)
        await answer.aclose()
        return Answer(answer.status_code, "" if answer.is_success else f"the answer was {answer.status_code}")

    async def _address(self, url: httpx.URL) -> Address:
        """Return the address to connect to; raise ``Refused`` if one of the name's addresses is not permitted."""
        port = url.port or (443 if url.scheme == "https" else 80)
        literal = parse_address(url.host)
        texts = [url.host] if literal is not None else await self._resolve(url.host, port)
        found = [address for text in texts if (address := parse_address(text)) is not None]
        if not found:
            raise Refused(f"{url.host} has no address")
        for each in found:
            if not is_permitted(each, self._networks):
                raise Refused(f"{url.host} has the address {each}, which is not in the public network, nor permitted")
            if url.scheme != "https" and not is_listed(each, self._networks):
                raise Refused(f"{url.host} has the address {each}, to which only https is permitted")
        return found[0]
