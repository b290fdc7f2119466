"""What an access file declares, as requests that store it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.registry.auth_cli.door import Question
from counterfoil.registry.domain.access.roles import ROLES
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.registry.auth.file.model import AccessFile
    from counterfoil.registry.domain.access.operations import Operation

    Names = Mapping[frozenset[Operation], str]


class NotForStores(CounterfoilError):
    """An access file has what a store cannot have."""

    exit_code = ExitCode.PRECONDITION


def records_of(
    file: AccessFile, users: list[dict[str, Any]], roles: list[dict[str, Any]], bindings: list[dict[str, Any]]
) -> list[Question]:
    """Return the requests for what ``file`` declares and the store does not have; raise ``NotForStores``."""
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
    made: list[dict[str, Any]] = []
    made += (each for each in _bindings(file) if each not in held and each not in made)
    named = [each for each in (*_roles(file), *_users(file)) if each.path[1] not in names[each.path[0]]]
    return [*named, *(Question("POST", ("bindings",), each) for each in made)]


def _roles(file: AccessFile) -> Iterator[Question]:
    for name, operations in file.roles.items():
        yield Question("PUT", ("roles", name), {"operations": _sorted(operations)})


def _users(file: AccessFile) -> Iterator[Question]:
    for name, user in file.users.items():
        disabled = {"disabled": True} if user.is_disabled else {}
        yield Question("PUT", ("users", name), {"hash": user.stored.text, **disabled})


def _bindings(file: AccessFile) -> Iterator[dict[str, Any]]:
    """Yield the rules, by the names of roles where they have exactly their operations."""
    names: Names = {operations: name for name, operations in (*file.roles.items(), *ROLES.items())}
    for rule in file.rules:
        words = [names[rule.operations]] if rule.operations in names else _sorted(rule.operations)
        yield {"to": rule.principal, "allow" if rule.allows else "deny": words, "on": str(rule.pattern)}


def _sorted(operations: frozenset[Operation]) -> list[str]:
    return sorted(operation.value for operation in operations)
