"""The reads of tests in the values of each contract, compared with the reads in a consumer's product file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from counterfoil.contracts.errors import InvalidOperand, PreconditionFailed
from counterfoil.contracts.generate.documents import ConsumerFacts, Uneditable, consumer_text, with_reads
from counterfoil.schema.agreements import DataProduct, major_of
from counterfoil.schema.agreements.documents import read_agreement
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.paths import print_path
from counterfoil.sdk.usage import Usage
from counterfoil.sdk.usage.recording import WHOLE, ObservedPlace, recorded

if TYPE_CHECKING:
    from counterfoil.contracts.generate.examples import Examples
    from counterfoil.contracts.generate.library import ContractLibrary


# What tests read of the values of each contract, as the paths of consumers' files.

KEY: Final = "$key"
_ALL: Final = WHOLE[0]


class ReadRecorder:
    """The paths that were read, by the id of the contract: of the whole run, and since the last test began."""

    def __init__(self) -> None:
        self.paths: defaultdict[str, set[str]] = defaultdict(set)
        self.of_test: defaultdict[str, set[str]] = defaultdict(set)
        self._usages: list[Usage] = []

    def begin_test(self) -> None:
        """Forget the reads of the last test."""
        self._flush()
        self.of_test.clear()

    def end_test(self) -> Mapping[str, set[str]]:
        """Return the reads of the test, also through deserializers that are observed."""
        self._flush()
        return self.of_test

    def note(self, contract: str, paths: Iterable[str]) -> None:
        """Note that paths were read."""
        found = [*paths]
        self.paths[contract].update(found)
        self.of_test[contract].update(found)

    def recorded(self, contract: str, examples: Examples, value: object, *, is_key: bool = False) -> Json:
        """Return a value that notes the reads of its members."""

        def note(texts: tuple[str, ...]) -> None:
            self.note(contract, (_in_key(text) for text in texts) if is_key else texts)

        return recorded(value, ObservedPlace.root(examples.parsed), note)

    def add_usage(self, usage: Usage) -> None:
        """Take the observed reads of a deserializer at the end of each test."""
        self._usages.append(usage)

    def sink(self, contract_of_id: Callable[[int], str | None]) -> Callable[[JsonObject], None]:
        """Return the sink for the batches of an observation; ``contract_of_id`` knows the ids of schemas."""

        def take(batch: JsonObject) -> None:
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


# A consumer's product file (ODPS), whose reads are compared with those of tests and completed.

_SUFFIXES = (".odps.yaml", ".odps.yml", ".yaml", ".yml")


class ProductFile:
    """A product file: its text, and its declarations. The text of a file that does not exist yet is empty."""

    def __init__(self, place: Path, text: str) -> None:
        self._place = place
        self._text = text
        self.has_changed = False
        self._reads = _declared(place, text) if text else {}

    @classmethod
    def read(cls, place: Path) -> Self:
        """Return the file at a place; raise ``InvalidOperand`` for one that is no valid product file."""
        try:
            return cls(place, place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise PreconditionFailed(f"there is no file {place}") from None
        except UnicodeDecodeError as error:
            raise InvalidOperand(str(place), f"it is not UTF-8 ({error.reason})", what="product file") from None

    @classmethod
    def empty(cls, place: Path) -> Self:
        """Return a file that does not exist yet."""
        return cls(place, "")

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._place.name

    @property
    def contracts(self) -> Sequence[str]:
        """The ids of the contracts that are read."""
        return sorted(self._reads)

    def reads(self, contract: str) -> Sequence[str] | None:
        """Return the declared paths of a contract; None without an input port for it."""
        return self._reads.get(contract)

    def add(self, contract: str, version: str, paths: Sequence[str]) -> list[str]:
        """Add the paths that are not declared yet, and return them. Raises ``PreconditionFailed``."""
        missing = undeclared(paths, self._reads.get(contract, ()))
        if not missing:
            return []
        major = major_of(version)
        try:
            if self._text:
                text = with_reads(self._text, contract, major, missing)
            else:
                text = consumer_text(ConsumerFacts(self._stem, contract, major), missing)
            declared = _declared(self._place, text)
        except (Uneditable, InvalidOperand) as problem:
            raise PreconditionFailed(
                f"{self._place} cannot be completed ({problem}); add to the reads of {contract}: {', '.join(missing)}"
            ) from None
        self._text, self._reads, self.has_changed = text, declared, True
        return missing

    def write(self) -> None:
        """Write the file; one that is read meanwhile is either the old one or the new one."""
        beside = self._place.with_name(f"{self._place.name}.new")
        beside.write_text(self._text, encoding="utf-8")
        beside.replace(self._place)

    @property
    def _stem(self) -> str:
        return next((self.name.removesuffix(each) for each in _SUFFIXES if self.name.endswith(each)), self.name)


def product_of_project(library: ContractLibrary) -> ProductFile:
    """Return the only product file that belongs to a folder; raise ``PreconditionFailed`` for none or several."""
    found = library.product_files()
    if len(found) == 1:
        return ProductFile.read(found[0])
    names = ", ".join(place.name for place in found) or "none"
    raise PreconditionFailed(
        f"the product file (.odps.yaml) to compare with is not clear: {names}; name it with counterfoil_consumer in "
        "pytest's section"
    )


def _declared(place: Path, text: str) -> dict[str, list[str]]:
    reading = read_agreement(text)
    if not isinstance(reading.agreement, DataProduct) or reading.faults:
        fault = reading.faults[0] if reading.faults else None
        problem = "it is a contract file" if fault is None else fault.problem
        raise InvalidOperand(
            str(place), problem, position=None if fault is None else fault.position, what="product file"
        )
    declared: dict[str, list[str]] = {}
    for each in reading.agreement.expectations:
        paths = ["*"] if each.reads is None else [print_path(read.path) for read in each.reads]
        declared.setdefault(each.contract_id, []).extend(paths)
    return declared
