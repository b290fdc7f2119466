"""How commands reach ``/auth/v1``: over the network, or in this process over a store or an access file."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import click

from counterfoil.schema.extras import needed_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from starlette.types import ASGIApp

    from counterfoil.registry.domain.access.identity import Credentials, Identity
    from counterfoil.registry.domain.access.stored import StoredAccess
    from counterfoil.registry.service.access.administration import AccessAdministration
    from counterfoil.registry.service.storage import Storage
    from counterfoil.sdk.operations.operation import Operation
    from counterfoil.sdk.registry_options import RegistryAccess

_JSON: Final = {"Content-Type": "application/json", "Accept": "application/json"}


class _Owner:
    """Accepts every request as one of whoever owns the store, who may do everything."""

    takes_bearer = False

    def recall(self, header: bytes, /) -> None:
        """Return None: no header is sent."""

    async def authenticate(self, credentials: Credentials) -> Identity:
        """Return the owner."""
        from counterfoil.registry.domain.access.identity import Identity
        from counterfoil.registry.domain.access.names import STORE_OWNER

        del credentials
        return Identity(STORE_OWNER, method="password")


class Question(NamedTuple):
    """A request to ``/auth/v1``: the segments of the path after it, and the body."""

    method: str
    path: tuple[str, ...]
    body: Any = None

    @property
    def target(self) -> str:
        """The path."""
        return "/auth/v1/" + "/".join(quote(segment, safe="") for segment in self.path)


RECORDS: Final = tuple(Question("GET", (kind,)) for kind in ("users", "roles", "bindings"))
"""The requests for what a store declares."""


def ask(
    method: str,
    path: tuple[str, ...],
    body: Any = None,
    *,
    registry: RegistryAccess | None = None,
    store: str | None = None,
    file: Path | None = None,
) -> Any:
    """Return the response to a request to ``/auth/v1``; raise the error of the response.

    It is answered by the running ``registry``, or here over ``store``, or by ``file`` alone.
    """
    return ask_each([Question(method, path, body)], registry=registry, store=store, file=file)[0]


def ask_each(
    questions: Iterable[Question],
    *,
    registry: RegistryAccess | None = None,
    store: str | None = None,
    file: Path | None = None,
) -> list[Any]:
    """Return the responses to requests, one after the other; the first error is raised. See :func:`ask`."""
    if store is None and file is None:
        return _over_network(questions, registry)
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.store.memory import MemoryStorage
        from counterfoil.registry.store.opening import open_store
    opened: Callable[[], Storage] = MemoryStorage if store is None else lambda: open_store(store)
    return asyncio.run(_here(questions, opened, file))


def _over_network(questions: Iterable[Question], registry: RegistryAccess | None) -> list[Any]:
    if registry is None or registry.url is None:
        raise click.UsageError("name the registry by --registry, or its store by --store")
    with registry.open() as client:
        return [client.call(_operation(each)) for each in questions]


def _operation(question: Question) -> Operation[Any]:
    from counterfoil.sdk.operations.operation import Operation, ReplyForm
    from counterfoil.sdk.operations.requests import json_body

    return Operation(
        f"{question.method} {question.target}",
        question.method,
        question.target,
        lambda reply: reply.value,
        body=None if question.body is None else json_body(question.body),
        is_repeatable=question.method in {"GET", "PUT"},
        form=ReplyForm.NOTHING if question.method == "DELETE" else ReplyForm.JSON,
    )


async def _here(questions: Iterable[Question], opened: Callable[[], Storage], file: Path | None) -> list[Any]:
    from counterfoil.registry.access_control import ServerAccess
    from counterfoil.registry.api.gate import AccessControl
    from counterfoil.registry.app import assemble
    from counterfoil.registry.domain.access.names import STORE_OWNER
    from counterfoil.registry.domain.access.policy import Policy
    from counterfoil.registry.domain.access.rules import administrator
    from counterfoil.registry.settings import ServerSettings

    settings = ServerSettings(auth_file="" if file is None else str(file))
    storage = await asyncio.to_thread(opened)
    try:
        server = ServerAccess(storage, settings)
        policy = Policy((administrator(STORE_OWNER),))
        app = assemble(storage, settings, access=AccessControl(_Owner(), lambda: policy), server=server)
        return [await _answer(app, each) for each in questions]
    finally:
        await storage.close()


async def _answer(app: ASGIApp, question: Question) -> Any:
    from counterfoil.registry.in_process import exchange
    from counterfoil.schema.errors import error_for_code

    sent = None if question.body is None else json.dumps(question.body).encode()
    status, _, data = await exchange(app, question.method, question.target, _JSON, sent)
    reply = json.loads(data or b"null")
    if status >= 400:  # noqa: PLR2004  the statuses of errors
        raise error_for_code(reply["error_code"], reply["message"], status=status)
    return reply


def stored_access(store: str) -> StoredAccess:
    """Return what the store at ``store`` declares."""
    found: list[StoredAccess] = []

    async def read(administration: AccessAdministration) -> None:
        await administration.records.catch_up()
        found.append(await administration.records.current())

    asyncio.run(over_store(store, read))
    return found[0]


async def over_store(store: str, change: Callable[[Any], Any]) -> None:
    """Carry out ``change`` with the use cases of the records about access in ``store``."""
    from counterfoil.registry.access_control import administration_of
    from counterfoil.registry.settings import ServerSettings
    from counterfoil.registry.store.opening import open_store

    storage = await asyncio.to_thread(open_store, store)
    try:
        await change(administration_of(storage, max_token_days=ServerSettings().token_max_days))
    finally:
        await storage.close()
