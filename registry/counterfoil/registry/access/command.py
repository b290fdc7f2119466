"""``counterfoil auth``: the files of administrators, and what an access file declares as requests that store it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from counterfoil.registry.access.resources import ROLES
from counterfoil.registry.access.store_commands import (
    RECORDS,
    AccessRequest,
    ask,
    ask_each,
    bind,
    bindings,
    disable,
    door,
    init,
    password,
    service,
    stored_access,
    token,
    unbind,
)
from counterfoil.schema.errors import CounterfoilError, needed_by
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.texts import counted
from counterfoil.sdk.commands import as_json, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.registry.access.file.imports import ImportedAccess
    from counterfoil.registry.access.file.values import AccessFile, HtpasswdFile
    from counterfoil.registry.access.resources import AccessOperation
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.sdk.commands.options import RegistryAccess


# What an access file declares, as requests that store it.

if TYPE_CHECKING:
    Names = Mapping[frozenset[AccessOperation], str]


class NotForStores(CounterfoilError):
    """An access file has an entry that a store cannot have."""

    exit_code = ExitCode.PRECONDITION


def records_of(
    file: AccessFile, users: list[Document], roles: list[Document], bindings: list[Document]
) -> list[AccessRequest]:
    """Return the requests for entries of ``file`` that the store does not have; raise ``NotForStores``."""
    left = {
        "issuers": file.issuers,
        "a proxy": file.proxy,
        "groups with members": file.groups,
        "open paths": file.open_paths,
    }
    if any(left.values()):
        kinds = ", ".join(what for what, value in left.items() if value)
        raise NotForStores(f"{file.path} has {kinds}, which a store cannot have; remove them, or keep the file in use")
    names = {"users": {each["name"] for each in users}, "roles": {each["name"] for each in roles}}
    held = [{key: each[key] for key in ("to", "allow", "deny", "on") if key in each} for each in bindings]
    made: list[Document] = []
    made += (each for each in _bindings(file) if each not in held and each not in made)
    named = [each for each in (*_roles(file), *_user_requests(file)) if each.path[1] not in names[each.path[0]]]
    return [*named, *(AccessRequest("POST", ("bindings",), each) for each in made)]


def _roles(file: AccessFile) -> Iterator[AccessRequest]:
    for name, operations in file.roles.items():
        yield AccessRequest("PUT", ("roles", name), {"operations": _sorted(operations)})


def _user_requests(file: AccessFile) -> Iterator[AccessRequest]:
    for name, user in file.users.items():
        disabled = {"disabled": True} if user.is_disabled else {}
        yield AccessRequest("PUT", ("users", name), {"hash": user.stored.text, **disabled})


def _bindings(file: AccessFile) -> Iterator[Document]:
    """Yield the rules, by the names of roles where they have exactly their operations."""
    names: Names = {operations: name for name, operations in (*file.roles.items(), *ROLES.items())}
    for rule in file.rules:
        words = [names[rule.operations]] if rule.operations in names else _sorted(rule.operations)
        yield {"to": rule.principal, "allow" if rule.allows else "deny": words, "on": str(rule.pattern)}


def _sorted(operations: frozenset[AccessOperation]) -> list[str]:
    return sorted(operation.value for operation in operations)


# ``counterfoil auth``: checks, questions, imports, users. Each command imports what it needs when it runs.

_ONLY_FILE = click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    envvar="COUNTERFOIL_AUTH_FILE",
    help="Evaluate this access file alone. [COUNTERFOIL_AUTH_FILE]",
)
_HTPASSWD = click.option(
    "--file", "path", type=click.Path(path_type=Path), help="An htpasswd file, which `add` creates, instead of a store."
)
_STDIN = click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")


@click.group()
def auth() -> None:
    """Declare and check who may do what, in a store or in an access file."""


for _command in (init, disable, service, token, bind, unbind, bindings):
    auth.add_command(_command)


@auth.command()
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Exit with code 1 if there are warnings.")
@click.option(
    "--store",
    metavar="URL",
    help="Also read what this store declares: its users and services are names, and its rules are checked. "
    "Without FILE, these alone.",
)
@as_json
def check(*, path: Path | None, strict: bool, store: str | None, as_json: bool) -> ExitCode:
    """Check an access file and the files that it names; exit code 1 when a server would refuse them.

    Warnings: unknown names, rules that never apply, weak hashes, nobody in admins, prefixes that clash, files with
    hashes that others can read; with --store also rules of the store whose makers have lost the right to make them.

    Exit codes: 0 valid, 1 a server would refuse it, or there are warnings and --strict, 2 usage, 14 there is no FILE.
    """
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.access.file.in_force import find_idle_rules, find_stored_warnings, find_warnings
        from counterfoil.registry.access.file.values import AccessFile, InvalidAccessFile
    if path is None and store is None:
        raise click.UsageError("Name the FILE to check, or with --store a store that declares who may do what.")
    if path is not None and not path.exists():
        raise click.ClickException(f"there is no file {str(path)!r}")
    try:
        file = AccessFile(Path()) if path is None else _load(path)
    except InvalidAccessFile as mistake:
        if as_json:
            print_json({"file": str(path), "valid": False, "mistake": str(mistake), "warnings": []})
        else:
            click.echo(str(mistake))
        return ExitCode.BROKEN
    stored = None if store is None else stored_access(store)
    known = () if stored is None else stored.names
    warnings = () if path is None else (*find_warnings(file), *find_idle_rules(file, known=known))
    if stored is not None:
        warnings = (*warnings, *find_stored_warnings(file, stored))
    if as_json:
        shown = None if path is None else str(path)
        print_json({"file": shown, "valid": True, "mistake": None, "warnings": [str(each) for each in warnings]})
        return ExitCode.BROKEN if warnings and strict else ExitCode.OK
    for warning in warnings:
        click.echo(str(warning))
    declared = (len(file.rules), len(file.users), len(file.issuers))
    if path is None and stored is not None:
        declared = (len(stored.rules), len(stored.users), 0)
    counts = map(counted, declared, ("rule", "user", "issuer"))
    click.echo(f"{path or 'the store'}: valid; {', '.join(counts)}, {counted(len(warnings), 'warning')}")
    return ExitCode.BROKEN if warnings and strict else ExitCode.OK


@auth.command()
@click.argument("principal")
@click.argument("operation")
@click.argument("resource", required=False)
@click.option("--groups", default="", metavar="A,B", help="Groups that an issuer names, such as okta:dev.")
@_ONLY_FILE
@as_json
@door
def can(
    *,
    principal: str,
    operation: str,
    resource: str | None,
    groups: str,
    path: Path | None,
    as_json: bool,
    registry: RegistryAccess,
    store: str | None,
) -> ExitCode:
    """Print whether PRINCIPAL may do OPERATION to RESOURCE, and the rule that decides; exit code 1 when it may not.

    For example: counterfoil auth can User:alice WRITE orders-value --file access.yaml. Instead of an operation and a
    resource, a request can be named: counterfoil auth can User:alice "PUT /config/orders-value"
    """
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.access.questions import parse_operation, parse_principal, parse_resource
    named = [parse_principal(f"Group:{each.strip()}") for each in groups.split(",") if each.strip()]
    parse_principal(principal)
    if resource is not None:
        parse_operation(operation)
        parse_resource(resource)
    what = {"request": operation} if resource is None else {"operation": operation, "resource": resource}
    is_remote = store is not None or registry.is_given
    question = {"principal": principal, "groups": named, **what}
    answer = ask("POST", ("can",), question, registry=registry, store=store, file=None if is_remote else path)
    if as_json:
        print_json(answer)
        return ExitCode.OK if answer["allowed"] else ExitCode.BROKEN
    shown = operation if resource is None else f"{operation.upper()} {resource}"
    click.echo(f"{'allowed' if answer['allowed'] else 'denied'}: {principal} {shown}")
    for each in answer.get("needs", [answer]):
        if "needs" in answer:
            click.echo(f"  {'allowed' if each['allowed'] else 'denied'}: {each['operation']} on {each['resource']}")
        rule = each.get("rule")
        click.echo("  no rule is about it" if rule is None else f"  by {rule['source']}: {rule['text']}")
        for near in each["near"]:
            click.echo(f"  near: {near['source']}: {near['text']}")
    if "more" in answer:
        click.echo(f"  {answer['more']}")
    return ExitCode.OK if answer["allowed"] else ExitCode.BROKEN


@auth.command("who-can")
@click.argument("operation")
@click.argument("resource")
@_ONLY_FILE
@as_json
@door
def who_can_command(
    *, operation: str, resource: str, path: Path | None, as_json: bool, registry: RegistryAccess, store: str | None
) -> ExitCode:
    """Print who may do OPERATION to RESOURCE, each with the rule that allows it; exit code 1 when nobody may."""
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.access.questions import parse_operation, parse_resource
    parse_operation(operation)
    parse_resource(resource)
    is_remote = store is not None or registry.is_given
    question = {"operation": operation, "resource": resource}
    found = ask("POST", ("who-can",), question, registry=registry, store=store, file=None if is_remote else path)
    if as_json:
        print_json(found)
        return ExitCode.OK if found else ExitCode.BROKEN
    for each in found:
        click.echo(f"{each['principal']}  by {each['rule']['source']}: {each['rule']['text']}")
    if not found:
        click.echo(f"nobody may {operation} {resource}")
    return ExitCode.OK if found else ExitCode.BROKEN


@auth.command("import")
@click.option("--karapace", type=click.Path(path_type=Path), help="Karapace's authorization file.")
@click.option(
    "--kafka-acls",
    type=click.Path(path_type=Path),
    help="The output of `kafka-acls --list` or `rpk security acl list`.",
)
@click.option("--htpasswd", type=click.Path(path_type=Path), help="An htpasswd file.")
def import_(*, karapace: Path | None, kafka_acls: Path | None, htpasswd: Path | None) -> ExitCode:
    """Print an access file made of another system's users and rules, to be read and changed. Nothing is applied."""
    given = [path for path in (karapace, kafka_acls, htpasswd) if path is not None]
    if len(given) != 1:
        raise click.UsageError("give one of --karapace, --kafka-acls and --htpasswd")
    click.echo(_imported(karapace, kafka_acls, given[0]).text, nl=False)
    return ExitCode.OK


@auth.command()
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@as_json
@door
def load(*, path: Path, as_json: bool, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Store what the access file FILE declares: users with their hashes, roles, rules and administrators.

    What exists already stays as it is, so that the command can be repeated. Nothing is stored if the file has what a
    store cannot have: issuers, a proxy, groups with members, open paths.
    """
    with needed_by("The registry", extra="registry"):
        pass
    new = records_of(_load(path), *ask_each(RECORDS, registry=registry, store=store))
    ask_each(new, registry=registry, store=store)
    kinds = ("roles", "users", "bindings")
    numbers = {kind: sum(each.path[0] == kind for each in new) for kind in kinds}
    if as_json:
        print_json(numbers)
    else:
        counts = (counted(number, kind.removesuffix("s")) for kind, number in numbers.items())
        click.echo(f"stored: {', '.join(counts)}")
    return ExitCode.OK


@auth.group()
def user() -> None:
    """Change users, of an htpasswd file or of a store: add, passwd, disable, enable, delete, list."""


@user.command()
@click.argument("name")
@_STDIN
@_HTPASSWD
@door
def add(*, name: str, password_stdin: bool, path: Path | None, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Add the user NAME, with argon2id as the kind of hash."""
    given = password(from_stdin=password_stdin)
    if path is not None:
        _htpasswd(path).add(name, given)
        return ExitCode.OK
    if any(each["name"] == name for each in ask("GET", ("users",), registry=registry, store=store)):
        raise click.UsageError(f"{name} exists; `auth user passwd` sets another password")
    ask("PUT", ("users", name), {"password": _text(given)}, registry=registry, store=store)
    return ExitCode.OK


@user.command()
@click.argument("name")
@_STDIN
@_HTPASSWD
@door
def passwd(
    *, name: str, password_stdin: bool, path: Path | None, registry: RegistryAccess, store: str | None
) -> ExitCode:
    """Set another password for the user NAME."""
    given = password(from_stdin=password_stdin)
    if path is not None:
        _htpasswd(path).set_password(name, given)
        return ExitCode.OK
    ask("GET", ("users", name), registry=registry, store=store)
    ask("PUT", ("users", name), {"password": _text(given)}, registry=registry, store=store)
    return ExitCode.OK


@user.command("disable")
@click.argument("name")
@_HTPASSWD
@door
def disable_user(*, name: str, path: Path | None, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Disable the user NAME; the hash stays."""
    if path is not None:
        _htpasswd(path).disable(name)
    else:
        ask("PUT", ("users", name), {"disabled": True}, registry=registry, store=store)
    return ExitCode.OK


@user.command()
@click.argument("name")
@_HTPASSWD
@door
def enable(*, name: str, path: Path | None, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Enable the user NAME with the password from before."""
    if path is not None:
        _htpasswd(path).enable(name)
    else:
        ask("PUT", ("users", name), {"disabled": False}, registry=registry, store=store)
    return ExitCode.OK


@user.command()
@click.argument("name")
@door
def delete(*, name: str, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Delete the user NAME of a store, with its tokens and the rules about it."""
    ask("DELETE", ("users", name), registry=registry, store=store)
    return ExitCode.OK


@user.command("list")
@_HTPASSWD
@as_json
@door
def list_users(*, path: Path | None, as_json: bool, registry: RegistryAccess, store: str | None) -> ExitCode:
    """Print the users, and which of them are disabled or have a weak hash."""
    if path is None:
        found = ask("GET", ("users",), registry=registry, store=store)
        if as_json:
            print_json(found)
            return ExitCode.OK
        for each in found:
            click.echo("  ".join([each["name"], *(["disabled"] if each["disabled"] else [])]))
        return ExitCode.OK
    lines = _htpasswd(path).users
    if as_json:
        print_json(
            [{"name": each.name, "disabled": each.is_disabled, "weakness": each.stored.weakness} for each in lines]
        )
        return ExitCode.OK
    for line in lines:
        facts = [*(["disabled"] if line.is_disabled else []), *([line.stored.weakness] if line.stored.weakness else [])]
        click.echo("  ".join([line.name, *facts]))
    return ExitCode.OK


def _text(given: bytes) -> str:
    return given.decode("utf-8", "surrogateescape")


def _load(path: Path) -> AccessFile:
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.access.file.grammar import load_access_file
    return load_access_file(path)


def _htpasswd(path: Path) -> HtpasswdFile:
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.access.file.values import HtpasswdFile
    return HtpasswdFile(path)


def _imported(karapace: Path | None, kafka_acls: Path | None, path: Path) -> ImportedAccess:
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.access.file.imports import import_htpasswd, import_kafka_acls, import_karapace
    data = path.read_bytes()
    if karapace is not None:
        return import_karapace(data, path=str(path))
    if kafka_acls is not None:
        return import_kafka_acls(data.decode("utf-8", "replace"), path=str(path))
    return import_htpasswd(data, path=str(path))
