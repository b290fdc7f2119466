"""pytest's options ``--record-reads`` and ``--check-reads``, in a run with or without pytest-xdist."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from counterfoil.contracts.testkit.reads import (
    ProductFile,
    ReadRecorder,
    least,
    product_of_project,
    undeclared,
    untouched,
)
from counterfoil.contracts.testkit.session import CONSUMER_INI, SESSION
from counterfoil.schema.errors import CounterfoilError

_OUTPUT = "counterfoil_reads"


class ReadsPlugin:
    """Records what each test reads, fails those that read something undeclared, and writes the product file.

    A worker of pytest-xdist sends the reads of its tests to the process that started it, which joins them.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_worker = hasattr(config, "workerinput")
        self._checks = bool(config.getoption("check_reads"))
        self._record = config.getoption("record_reads")
        self._recorder = SESSION.recorder = ReadRecorder()
        self._joined: defaultdict[str, set[str]] = defaultdict(set)
        self._written: list[str] = []
        self._failure = ""
        self._declared: ProductFile | None = None

    def pytest_sessionstart(self) -> None:
        """Read the product file that the tests are compared with."""
        if self._checks:
            try:
                self._declared = self._product()
            except CounterfoilError as error:
                raise pytest.UsageError(f"--check-reads: {error}") from None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Begin to note the reads of a test and its fixtures."""
        self._recorder.begin_test()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Fail a test that read something undeclared, unless it failed already."""
        result = yield
        found = self._recorder.end_test()
        if self._declared is not None:
            problems = [*_problems(self._declared, found)]
            if problems:
                pytest.fail("\n".join(problems), pytrace=False)
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take the reads of a worker's tests."""
        for contract, paths in getattr(node, "workeroutput", {}).get(_OUTPUT, {}).items():
            self._joined[contract].update(paths)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the reads, or write them to the product file."""
        self._recorder.end_test()
        for contract, paths in self._recorder.paths.items():
            self._joined[contract].update(paths)
        SESSION.recorder = None
        if self._is_worker:
            output = {contract: sorted(paths) for contract, paths in self._joined.items()}
            self._config.workeroutput[_OUTPUT] = output  # type: ignore[attr-defined] # of pytest-xdist
        elif self._record:
            try:
                self._written = [*self._write(Path(self._config.invocation_params.dir) / self._record)]
            except (CounterfoilError, OSError) as error:
                self._failure = f"--record-reads: {error}"
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the written paths, and the declared paths that no test read."""
        lines: list[tuple[str, dict[str, bool]]] = [(line, {}) for line in self._written]
        if self._declared is not None:
            lines += [(f"warning: {line}", {"yellow": True}) for line in _never_read(self._declared, self._joined)]
        if self._failure:
            lines.append((self._failure, {"red": True}))
        if lines:
            terminalreporter.section("reads of contracts")
        for line, style in lines:
            terminalreporter.write_line(line, **style)

    def _product(self) -> ProductFile:
        named = self._config.getini(CONSUMER_INI)
        if named:
            return ProductFile.read(self._config.rootpath / named)
        return product_of_project(SESSION.library())

    def _write(self, place: Path) -> Generator[str]:
        product = ProductFile.read(place) if place.is_file() else ProductFile.empty(place)
        for contract, paths in sorted(self._joined.items()):
            version = SESSION.library().find(contract).contract.version
            added = product.add(contract, version, least(paths))
            yield f"{self._record}: {contract}: {', '.join(added) if added else 'nothing new'}"
        if product.has_changed:
            product.write()


def _problems(product: ProductFile, found: Mapping[str, set[str]]) -> Generator[str]:
    for contract, paths in sorted(found.items()):
        declared = product.reads(contract)
        missing = least(paths) if declared is None else undeclared(paths, declared)
        if missing:
            reason = "declares no input port for" if declared is None else "does not declare that it reads this of"
            yield f"The test reads {', '.join(missing)}; {product.name} {reason} {contract}"


def _never_read(product: ProductFile, read: Mapping[str, set[str]]) -> Generator[str]:
    for contract in product.contracts:
        missing = untouched(read.get(contract, ()), product.reads(contract) or ())
        if missing:
            yield f"{product.name} declares {', '.join(missing)} of {contract}, which no test read"
