"""Requests that are made of the declarations of routes: each declared parameter names things of others once.

A parameter is known by its name in the description of the API. A new route is covered by the names of its parameters,
and a name that is not known here is an error.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from strategies.access.matrix import ROWS, filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from strategies.registry.driver import InProcessRegistry

METHODS: Final = ("GET", "POST", "PUT", "DELETE")
"""The methods in the order in which requests are sent: what removes things comes last."""

THINGS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "application": ("own", ("foreign",)),
    "context": (".own", (".foreign", ".hidden")),
    "contextPrefix": (".o", (".f", ".hid", ":.hidden:")),
    "contract": ("own", ("foreign", "shared")),
    "q": ("own", ("foreign",)),
    "prefix": ("own", ("foreign",)),
    "request_id": ("own", ("foreign", "hidden")),
    "to": ("own.s@1", ("foreign.s@1", ":.hidden:s@latest", "foreign.alias@1")),
    "deployment": ("{d}", ("{foreign d}", "{live}")),
    "environment": ("own", ("foreign",)),
    "guid": ("{guid}", ("{foreign guid}",)),
    "id": ("{id}", ("{foreign id}",)),
    "migration": ("own", ("foreign", "over-foreign")),
    "name": ("own", ("foreign", "foreign.s", "{binding}", "{token}")),
    "resourceId": ("own", ("foreign",)),
    "subject": ("own.s", ("foreign.s", "foreign.b", "foreign.alias", ":.hidden:s")),
    "subjectPrefix": ("own", ("foreign", ":.hidden:", ":*:f", ":*:")),
    "topic": ("own.t", ("foreign.t", "foreign.b", "foreign.s")),
    "verification": ("{verified}", ("{foreign verified}", "{elsewhere}")),
    "caller": ("User:owner", ("User:foreign",)),
}
"""The parameters that name things: the name of an own thing, and those of others."""

VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "after": ("0",),
    "aliases": ("true",),
    "algorithm": ("AES256_SIV",),
    "approval": ("none",),
    "as": ("odcs",),
    "as_of": ("1",),
    "associationType": ("value",),
    "branch": ("main",),
    "cascadeLifecycle": ("true",),
    "counts": ("false",),
    "defaultToGlobal": ("true",),
    "deleted": ("true",),
    "deletedAsNegative": ("true",),
    "deletedOnly": ("true",),
    "delivery": ("none",),
    "depth": ("5",),
    "direction": ("both",),
    "dryRun": ("true",),
    "event": ("request",),
    "fetchMaxId": (),
    "findTags": ("*",),
    "fingerprint": ("0123456789ab",),
    "force": ("true",),
    "format": ("resolved",),
    "from": ("1.0.0", "2.0.0", "own.s@1"),
    "if-match": (),
    "ignore": (),
    "in": ("any",),
    "includeSchemas": ("true",),
    "includeSubjects": ("true",),
    "key": ("a",),
    "kind": ("odcs", "subject"),
    "lang": ("AVRO",),
    "latestOnly": ("true",),
    "lifecycle": ("WEAK",),
    "limit": ("1",),
    "lines": ("1",),
    "major": ("1",),
    "maxAgeDays": ("1",),
    "namespace": ("x",),
    "normalize": ("true",),
    "offset": ("1",),
    "outcome": ("denied",),
    "path": ("x",),
    "permanent": ("true",),
    "policy": ("SOUND",),
    "recursive": ("true",),
    "referenceFormat": ("qualified",),
    "resourceType": ("topic",),
    "rewrap": ("true",),
    "rule": ("type-mismatch",),
    "ruleType": ("CEL",),
    "since": ("2000-01-01T00:00:00Z",),
    "state": ("declared",),
    "strict": ("true",),
    "testSharing": ("true",),
    "until": ("2000-01-01T00:00:00Z",),
    "value": ("b",),
    "verbose": ("true",),
    "version": ("1", "latest", "-1", "2"),
    "version_name": ("1", "1.0.0", "2.0.0", "3"),
    "webhook": ("none",),
}
"""The values of the other parameters. Two have none: with ``fetchMaxId`` everyone sees how much is written, and
a verdict is worked out over everything, so that what is ignored is compared within one registry."""


@dataclass(frozen=True)
class Operation:
    """A method at a path, with the names of its parameters."""

    method: str
    path: str
    placed: tuple[str, ...]
    """The parameters in the path."""
    required: tuple[str, ...]
    """The parameters of the query that every request has."""
    optional: tuple[str, ...]

    def pairs(
        self, others: Mapping[str, str], own: Sequence[Mapping[str, str]]
    ) -> Iterator[tuple[tuple[str, str, Any], tuple[str, str, Any]]]:
        """Yield requests about things of others, each as it is sent to either registry.

        ``own`` are the names of own things in each of them.
        """
        for chosen, body in itertools.product(self._choices(), self._bodies()):
            if not any(_is_of_others(each) for each in (*chosen.values(), str(body))):
                continue
            first, second = [self._request(chosen, body, _names(others, mine)) for mine in own]
            yield first, second

    def _request(self, chosen: Mapping[str, str], body: Any, names: dict[str, str]) -> tuple[str, str, Any]:
        path = self.path
        for name in self.placed:
            path = path.replace(f"{{{name}}}", quote(filled(chosen[name], names), safe=":*"))
        query = "&".join(
            f"{name}={quote(filled(value, names))}" for name, value in chosen.items() if name not in self.placed
        )
        return self.method, f"{path}?{query}" if query else path, filled(body, names)

    def _choices(self) -> Iterator[dict[str, str]]:
        """Yield values of the parameters: one of them names a thing of others, or all in the path and the query do."""
        always = (*self.placed, *self.required)
        plain = {name: _own(name) for name in always}
        yield plain
        for name in (*always, *self.optional):
            for value in (*_of_others(name), *(VALUES.get(name, ()) if name in always else ())):
                yield {**plain, name: value}
        named = {name: next(_of_others(name), _own(name)) for name in always}
        yield named
        for name in self.optional:
            for value in VALUES.get(name, ()):
                yield {**named, name: value}

    def _bodies(self) -> Iterator[Any]:
        """Yield the bodies of the operation in the matrix: about own things, and about things of others."""
        rows = [row["body"] for row in ROWS[f"{self.method} {self.path}"] if "body" in row]
        for body in rows:
            yield body
            yield filled(body, {"{s}": "foreign.s", "{n}": "foreign"})
        if not rows:
            yield None


def _names(others: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the texts that stand for names: those of own things, and, with ``foreign``, those of others."""
    of_others = {f"{{foreign {key[1:-1]}}}": value for key, value in others.items()}
    return {**of_others, **{key: value for key, value in others.items() if key not in own}, **own}


def _own(name: str) -> str:
    return THINGS[name][0] if name in THINGS else VALUES[name][0]


def _of_others(name: str) -> Iterator[str]:
    yield from THINGS[name][1] if name in THINGS else ()


def _is_of_others(value: str) -> bool:
    names = ("foreign", "hidden", "shared", "{live}", "{elsewhere}", "{binding}", "{token}", ".f", ":*:")
    return any(each in value for each in names)


async def declared_operations(registry: InProcessRegistry) -> list[Operation]:
    """Return the operations that the description of the API declares."""
    described = (await registry.send("GET", "/openapi.json", "admin")).json["paths"]
    return [
        Operation(
            method.upper(),
            path,
            _parameters(operation, "path"),
            _parameters(operation, "query", is_required=True),
            _parameters(operation, "query", is_required=False),
        )
        for path, operations in described.items()
        for method, operation in operations.items()
    ]


def _parameters(operation: Any, place: str, *, is_required: bool = True) -> tuple[str, ...]:
    return tuple(
        each["name"]
        for each in operation.get("parameters", ())
        if each["in"] == place and bool(each.get("required")) is is_required
    )
