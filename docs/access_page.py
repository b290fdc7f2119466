"""The reference page of operations, roles, and what each route needs of its caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.access.resources import ALIASES, IMPLIED, MEANINGS, ON_REGISTRY_ONLY, ROLES, AccessOperation
from counterfoil.registry.app import ROUTES

if TYPE_CHECKING:
    from counterfoil.registry.http.access import Access


def access_page() -> str:
    """Return the page of operations, roles, and what each route needs."""
    lines = [
        "# Operations, roles, routes",
        "",
        "[Who may do what](../access.md) explains rules.",
        "",
        "## Operations",
        "",
    ]
    lines += ["| operation | whoever has it may | includes | on the registry alone |", "|---|---|---|---|"]
    for each in AccessOperation:
        included = ", ".join(f"`{other.value}`" for other in AccessOperation if other in IMPLIED[each] - {each})
        lines.append(
            f"| `{each.value}` | {MEANINGS[each]} | {included} | {'yes' if each in ON_REGISTRY_ONLY else ''} |"
        )
    lines += ["", "## Roles", "", "| role | operations |", "|---|---|"]
    lines += [f"| `{name}` | {_named(operations)} |" for name, operations in {**ROLES, **ALIASES}.items()]
    lines += [
        "",
        "## Routes",
        "",
        "Every route, and what it needs of its caller. A route that finds things by an id, in a list or in a body",
        "checks the right to each of them: lists leave out what the caller may not see, and the rest is refused.",
        "",
        "| route | needs |",
        "|---|---|",
    ]
    return "\n".join([*lines, *(f"| `{each.method} {each.path_format}` | {_needs(each.access)} |" for each in ROUTES)])


def _named(operations: frozenset[AccessOperation]) -> str:
    if operations == frozenset(AccessOperation):
        return "every operation"
    return ", ".join(f"`{each.value}`" for each in AccessOperation if each in operations)


def _needs(access: Access) -> str:
    """Return what a route needs, as a sentence without its beginning."""
    found = []
    for each in access.on:
        thing = (each.scope.__doc__ or "").splitlines()[0].removeprefix("Return ").removesuffix(".")
        flags = "".join(f"; with `{flag}=true` also `{operation.value}`" for flag, operation in each.flags)
        found.append(f"`{each.operation.value}` on {thing}{flags}")
    if access.asks:
        found.append("the right to what it finds or what its body names")
    if not found:
        return "nothing" if access.is_open else "credentials"
    return ", and ".join(found)
