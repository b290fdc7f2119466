"""What tests read of the values of each contract, as the paths of consumers' files."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.usage.places import Place
from counterfoil.sdk.usage.recording import WHOLE, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from counterfoil.contracts.examples.examples import Examples
    from counterfoil.sdk.usage.observation import Usage

KEY: Final = "$key"
_ALL: Final = WHOLE[0]


class ReadRecorder:
    """The paths that were read, by the id of the contract: of the whole run, and since the last test began."""

    def __init__(self) -> None:
        self.paths: defaultdict[str, set[str]] = defaultdict(set)
        self.of_test: defaultdict[str, set[str]] = defaultdict(set)
        self._usages: list[Usage] = []

    def begin_test(self) -> None:
        """Forget what the last test read."""
        self._flush()
        self.of_test.clear()

    def end_test(self) -> Mapping[str, set[str]]:
        """Return what the test read, also through deserializers that are observed."""
        self._flush()
        return self.of_test

    def note(self, contract: str, paths: Iterable[str]) -> None:
        """Note that paths were read."""
        found = [*paths]
        self.paths[contract].update(found)
        self.of_test[contract].update(found)

    def recorded(self, contract: str, examples: Examples, value: Any, *, is_key: bool = False) -> Any:
        """Return a value that notes what is read of it."""

        def note(texts: tuple[str, ...]) -> None:
            self.note(contract, (_in_key(text) for text in texts) if is_key else texts)

        return recorded(value, Place.root(examples.parsed), note)

    def add_usage(self, usage: Usage) -> None:
        """Take what is observed of a deserializer at the end of each test."""
        self._usages.append(usage)

    def sink(self, contract_of_id: Callable[[int], str | None]) -> Callable[[dict[str, Any]], None]:
        """Return the sink for the batches of an observation; ``contract_of_id`` knows the ids of schemas."""

        def take(batch: dict[str, Any]) -> None:
            for read in batch["reads"]:
                contract = contract_of_id(read["schemaId"])
                if contract is not None:
                    self.note(contract, read["paths"])

        return take

    def _flush(self) -> None:
        for usage in self._usages:
            usage.send()


def _in_key(path: str) -> str:
    return KEY if path in (_ALL, "") else f"{KEY}{path}" if path.startswith("[") else f"{KEY}.{path}"


def least(paths: Iterable[str]) -> list[str]:
    """Return the paths without those that only lead to others; sorted.

    >>> least({"items", "items[].sku", "id"})
    ['id', 'items[].sku']
    """
    found = set(paths) - {""}
    if _ALL in found:
        return [_ALL, *sorted(path for path in found if path.startswith("$"))]
    return sorted(path for path in found if not any(_is_inside(other, path) for other in found))


def undeclared(read: Iterable[str], declared: Iterable[str]) -> list[str]:
    """Return the paths that are read and neither declared, nor inside something declared, nor on the way to it.

    >>> undeclared({"address", "address.city", "email"}, ["address.city"])
    ['email']
    """
    known = [*declared]
    return [
        path
        for path in least(read)
        if not any(
            path == each
            or (each == _ALL and not path.startswith("$"))
            or _is_inside(path, each)
            or _is_inside(each, path)
            for each in known
        )
    ]


def untouched(read: Iterable[str], declared: Iterable[str]) -> list[str]:
    """Return the declared paths that were never read.

    >>> untouched({"address.city"}, ["address", "email"])
    ['email']
    """
    found = [*read]
    return [
        each
        for each in declared
        if not any(
            path == each
            or _is_inside(path, each)
            or (path == _ALL and not each.startswith("$"))
            or (each == _ALL and not path.startswith("$"))
            for path in found
        )
    ]


def _is_inside(path: str, around: str) -> bool:
    """Return whether a path leads into another one."""
    return path.startswith(around) and path[len(around) : len(around) + 1] in (".", "[", "{", "<")
