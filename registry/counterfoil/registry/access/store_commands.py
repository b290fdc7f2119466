"""The commands that change the declarations of a store, and how all commands reach ``/auth/v1``."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

import click

from counterfoil.schema.errors import needed_by
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import as_json, print_json
from counterfoil.sdk.commands.options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from starlette.types import ASGIApp

    from counterfoil.registry.access.administration import AccessAdministration
    from counterfoil.registry.access.identity import CallerIdentity, PresentedCredentials
    from counterfoil.registry.access.records import StoredAccess
    from counterfoil.registry.store.protocol import Storage
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.sdk.commands.options import RegistryAccess
    from counterfoil.sdk.operations.operation import Operation


# How commands reach ``/auth/v1``: over the network, or in this process over a store or an access file.

_JSON: Final = {"Content-Type": "application/json", "Accept": "application/json"}


class _Owner:
    """Accepts every request as one of whoever owns the store, who may do everything."""

    takes_bearer = False

    def recall(self, header: bytes, /) -> None:
        """Return None: no header is sent."""

    async def authenticate(self, credentials: PresentedCredentials) -> CallerIdentity:
        """Return the owner."""
        from counterfoil.registry.access.identity import CallerIdentity
        from counterfoil.registry.access.rules import STORE_OWNER

        del credentials
        return CallerIdentity(STORE_OWNER, method="password")


class AccessRequest(NamedTuple):
    """A request to ``/auth/v1``: the segments of the path after it, and the body."""

    method: str
    path: tuple[str, ...]
    body: Any = None

    @property
    def target(self) -> str:
        """The path."""
        return "/auth/v1/" + "/".join(quote(segment, safe="") for segment in self.path)


RECORDS: Final = tuple(AccessRequest("GET", (kind,)) for kind in ("users", "roles", "bindings"))
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
    return ask_each([AccessRequest(method, path, body)], registry=registry, store=store, file=file)[0]


def ask_each(
    questions: Iterable[AccessRequest],
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


def _over_network(questions: Iterable[AccessRequest], registry: RegistryAccess | None) -> list[Any]:
    if registry is None or registry.url is None:
        raise click.UsageError("name the registry by --registry, or its store by --store")
    with registry.open() as client:
        return [client.call(_operation(each)) for each in questions]


def _operation(question: AccessRequest) -> Operation[Any]:
    from counterfoil.sdk.operations.operation import Operation, ReplyForm, json_body

    return Operation(
        f"{question.method} {question.target}",
        question.method,
        question.target,
        lambda reply: reply.value,
        body=None if question.body is None else json_body(question.body),
        is_repeatable=question.method in {"GET", "PUT"},
        form=ReplyForm.NOTHING if question.method == "DELETE" else ReplyForm.JSON,
    )


async def _here(questions: Iterable[AccessRequest], opened: Callable[[], Storage], file: Path | None) -> list[Any]:
    from counterfoil.registry.access.control import ServerAccess
    from counterfoil.registry.access.gate import AccessControl
    from counterfoil.registry.access.rules import STORE_OWNER, RulesInForce, administrator
    from counterfoil.registry.app import assemble
    from counterfoil.registry.settings import ServerSettings

    settings = ServerSettings(auth_file="" if file is None else str(file))
    storage = await asyncio.to_thread(opened)
    try:
        server = ServerAccess(storage, settings)
        policy = RulesInForce((administrator(STORE_OWNER),))
        app = assemble(storage, settings, access=AccessControl(_Owner(), lambda: policy), server=server)
        return [await _answer(app, each) for each in questions]
    finally:
        await storage.close()


async def _answer(app: ASGIApp, question: AccessRequest) -> Any:
    from counterfoil.registry.in_process import exchange
    from counterfoil.schema.errors import error_for_code

    sent = None if question.body is None else json.dumps(question.body).encode()
    status, _, data = await exchange(app, question.method, question.target, _JSON, sent)
    reply = json.loads(data or b"null")
    if status >= 400:  # noqa: PLR2004  the statuses of errors
        raise error_for_code(reply["error_code"], reply["message"], status=status)
    return reply


def stored_access(store: str) -> StoredAccess:
    """Return the declarations of the store at ``store``."""
    found: list[StoredAccess] = []

    async def read(administration: AccessAdministration) -> None:
        await administration.records.catch_up()
        found.append(await administration.records.current())

    asyncio.run(over_store(store, read))
    return found[0]


async def over_store(store: str, change: Callable[[Any], Any]) -> None:
    """Carry out ``change`` with the use cases of the records about access in ``store``."""
    from counterfoil.registry.access.control import administration_of
    from counterfoil.registry.settings import ServerSettings
    from counterfoil.registry.store.opening import open_store

    storage = await asyncio.to_thread(open_store, store)
    try:
        await change(administration_of(storage, max_token_days=ServerSettings().token_max_days))
    finally:
        await storage.close()


# The commands that change what a store declares: init, disable, service, token, bind, unbind, bindings.

_Command = TypeVar("_Command", bound="Callable[..., Any]")
_URL_HELP: Final = "sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/database."
_PASSWORD_BYTES: Final = 18

STORE: Final = click.option(
    "--store",
    metavar="URL",
    help=f"Change this store itself, without a server: {_URL_HELP} A SQLite store needs its server stopped.",
)
_THE_STORE: Final = click.option(
    "--store", required=True, envvar="COUNTERFOIL_STORE", metavar="URL", help=f"{_URL_HELP} [COUNTERFOIL_STORE]"
)


def door(command: _Command) -> _Command:
    """Add the options that name a running registry, or a store."""
    return STORE(registry_options(THE_REGISTRY)(command))


def password(*, from_stdin: bool) -> bytes:
    """Return the password: the first line of standard input, or a text typed twice at the terminal."""
    if from_stdin:
        return sys.stdin.buffer.readline().rstrip(b"\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask for the password; give it with --password-stdin")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True)).encode()


@click.command()
@_THE_STORE
@click.option("--user", "name", default="admin", show_default=True, help="The name of the first administrator.")
@click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input; else one is made and printed once."
)
@as_json
def init(*, store: str, name: str, password_stdin: bool, as_json: bool) -> ExitCode:
    """Make the first administrator; from then on every server on the store demands credentials.

    Servers that run on PostgreSQL notice it within two seconds. The command can be repeated to set another password.
    """
    with needed_by("The registry", extra="registry"):
        import counterfoil.registry.app  # noqa: F401  to name the extra where it is missing
        from counterfoil.registry.store.writes import NO_REQUEST
    made = password(from_stdin=True) if password_stdin else secrets.token_urlsafe(_PASSWORD_BYTES).encode()
    asyncio.run(over_store(store, lambda cases: cases.require(name, made, by=NO_REQUEST)))
    if as_json:
        print_json({"user": name} if password_stdin else {"user": name, "password": made.decode()})
    elif not password_stdin:
        click.echo(f"user: {name}\npassword: {made.decode()}")
    return ExitCode.OK


@click.command()
@_THE_STORE
def disable(*, store: str) -> ExitCode:
    """Have servers on the store demand no credentials, unless they have an access file. Users and rules stay."""
    with needed_by("The registry", extra="registry"):
        import counterfoil.registry.app  # noqa: F401  to name the extra where it is missing
        from counterfoil.registry.store.writes import NO_REQUEST
    asyncio.run(over_store(store, lambda cases: cases.disable(by=NO_REQUEST)))
    return ExitCode.OK


@click.group()
def service() -> None:
    """Change the accounts of programs, which have tokens and no password: add, list, disable, enable, delete."""


@service.command("add")
@click.argument("name")
@click.option("--description", default=None)
@door
def add_service(*, name: str, description: str | None, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Add the service NAME."""
    ask("PUT", ("services", name), _given(description=description), registry=registry, store=store)
    return ExitCode.OK


@service.command("list")
@as_json
@door
def list_services(*, as_json: bool, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Print the services, and which of them are disabled."""
    found = ask("GET", ("services",), registry=registry, store=store)
    if as_json:
        print_json(found)
        return ExitCode.OK
    for each in found:
        _print_row(each["name"], "disabled" if each["disabled"] else "", each.get("description", ""))
    return ExitCode.OK


@service.command("disable")
@click.argument("name")
@door
def disable_service(*, name: str, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Disable the service NAME: none of its tokens is accepted."""
    ask("PUT", ("services", name), {"disabled": True}, registry=registry, store=store)
    return ExitCode.OK


@service.command("enable")
@click.argument("name")
@door
def enable_service(*, name: str, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Enable the service NAME with its tokens from before."""
    ask("PUT", ("services", name), {"disabled": False}, registry=registry, store=store)
    return ExitCode.OK


@service.command("delete")
@click.argument("name")
@door
def delete_service(*, name: str, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Delete the service NAME, with its tokens and the rules about it."""
    ask("DELETE", ("services", name), registry=registry, store=store)
    return ExitCode.OK


@click.group()
def token() -> None:
    """Make, list and revoke API tokens: create, list, revoke."""


@token.command("create")
@click.argument("name")
@click.option("--for", "owner", metavar="PRINCIPAL", help="User:NAME or Service:NAME. Default: the caller.")
@click.option(
    "--scope", "scopes", multiple=True, metavar="ROLE:PATTERN", help="A limit, such as developer:pay.*; repeatable."
)
@click.option("--days", type=click.IntRange(min=1), default=90, show_default=True)
@as_json
@door
def create_token(
    *,
    name: str,
    owner: str | None,
    scopes: tuple[str, ...],
    days: int,
    as_json: bool,
    registry: RegistryAccess,
    store: str | None,
) -> ExitCode:
    """Make a token, and print it. It cannot be printed again."""
    body = _given(name=name, owner=owner, days=days, scopes=[_scope(each) for each in scopes] or None)
    made = ask("POST", ("tokens",), body, registry=registry, store=store)
    if as_json:
        print_json(made)
        return ExitCode.OK
    click.echo(made["token"])
    click.echo(f"id {made['id']}, until {_day(made['expires'])}", err=True)
    return ExitCode.OK


def _scope(text: str) -> Document:
    role, colon, pattern = text.partition(":")
    if not colon or not pattern:
        raise click.UsageError(f"--scope is {text!r}; expected a role or an operation, a colon and a pattern")
    return {"operations": role.split(","), "on": pattern}


@token.command("list")
@as_json
@door
def list_tokens(*, as_json: bool, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Print the tokens: id, owner, name, end, and which of them are revoked."""
    found = ask("GET", ("tokens",), registry=registry, store=store)
    if as_json:
        print_json(found)
        return ExitCode.OK
    for each in found:
        _print_row(each["id"], each["owner"], each["name"], _day(each["expires"]), "revoked" if each["revoked"] else "")
    return ExitCode.OK


@token.command("revoke")
@click.argument("token_id", metavar="ID")
@door
def revoke_token(*, token_id: str, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Revoke the token with this id, the characters between `cfr_` and the next underscore."""
    ask("DELETE", ("tokens", token_id), registry=registry, store=store)
    return ExitCode.OK


@click.command()
@click.argument("principal")
@click.argument("operations", metavar="ROLE")
@click.argument("pattern", metavar="RESOURCES")
@click.option("--deny", is_flag=True, help="Deny instead of allow.")
@as_json
@door
def bind(
    *,
    principal: str,
    operations: str,
    pattern: str,
    deny: bool,
    as_json: bool,
    registry: RegistryAccess,
    store: str | None,
) -> ExitCode:
    """Add a rule, and print its id: PRINCIPAL may do what ROLE says to RESOURCES.

    ROLE is a role, or operations with commas between them.

    For example: counterfoil auth bind User:bob developer "pay.*"
    """
    body = {"to": principal, "deny" if deny else "allow": operations.split(","), "on": pattern}
    made = ask("POST", ("bindings",), body, registry=registry, store=store)
    if as_json:
        print_json(made)
    else:
        click.echo(made["id"])
    return ExitCode.OK


@click.command()
@click.argument("binding_id", metavar="ID")
@door
def unbind(*, binding_id: str, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Delete the rule with this id."""
    ask("DELETE", ("bindings", binding_id), registry=registry, store=store)
    return ExitCode.OK


@click.command()
@as_json
@door
def bindings(*, as_json: bool, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Print the rules in the store, each with its id."""
    found = ask("GET", ("bindings",), registry=registry, store=store)
    if as_json:
        print_json(found)
        return ExitCode.OK
    for each in found:
        effect = "allow" if "allow" in each else "deny"
        _print_row(each["id"], f"{effect} {', '.join(each[effect])} to {each['to']} on {each['on']}")
    return ExitCode.OK


def _given(**values: Any) -> Document:
    return {name: value for name, value in values.items() if value is not None}


def _print_row(*cells: str) -> None:
    click.echo("  ".join(cell for cell in cells if cell))


def _day(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).date().isoformat()
