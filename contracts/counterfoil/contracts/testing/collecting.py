"""Which topics are tested: those of contract files, with what the consumers among the files expect of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from counterfoil.contracts.consumers.agreements import Agreements, read_file
from counterfoil.contracts.errors import InvalidOperand, UsageMistake
from counterfoil.contracts.testing.promises import TopicTest, topic_test
from counterfoil.schema.agreements.model import Contract
from counterfoil.schema.documents.blocks import likely

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.contracts.linting.lint import LintInput
    from counterfoil.schema.agreements.model import Server


class ChosenTest(NamedTuple):
    """A test of a topic, and the server of its contract that was named."""

    test: TopicTest
    server: Server | None


def chosen_tests(
    given: LintInput, *, topics: Sequence[str] = (), server: str | None = None, window_ms: int = 0
) -> list[ChosenTest]:
    """Return the tests of all topics of the contracts among the files, or of those that are named.

    ``window_ms`` is the length of the windows of rules that name none; 0: they are about all records. Where consumers
    alone are among the files, their contracts are looked for in the other files. Raises ``InvalidOperand`` for a file
    that is not valid, and ``UsageMistake`` for an unknown topic or server.
    """
    wanted = frozenset(given.agreements)
    files = [read_file(path, given.read(path) or b"") for path in given.agreements]
    if not any(isinstance(each.reading.agreement, Contract) for each in files):
        files += [read_file(path, given.read(path) or b"") for path in given.others] if files else []
    for file in files:
        if file.path in wanted and file.reading.faults:
            fault = file.reading.faults[0]
            raise InvalidOperand(file.path, fault.problem, position=fault.position, what="contract or product file")
    agreements = Agreements.of(files, consumer_files=wanted)
    read = {each.expectation.contract_id for each in agreements.consumers}
    contracts = [
        (path, contract) for path, contract in agreements.contracts.values() if path in wanted or contract.id in read
    ]
    found = [
        ChosenTest(
            topic_test(
                contract, promise, file=path, consumers=agreements.of_contract(contract.id), window_ms=window_ms
            ),
            _server(contract, server),
        )
        for path, contract in contracts
        for promise in contract.promises
    ]
    return _of_topics(found, topics)


def environment_of(chosen: ChosenTest, given: str | None) -> str:
    """Return the environment of the records: the given one, else that of the server, else nothing."""
    server = chosen.server
    return given or (server.environment or server.name if server is not None else "")


def _of_topics(found: list[ChosenTest], topics: Sequence[str]) -> list[ChosenTest]:
    known = {each.test.topic for each in found}
    for topic in topics:
        if topic not in known:
            raise UsageMistake(f"--topic {topic}: no contract here names it; {likely(topic, known)}")
    return [each for each in found if not topics or each.test.topic in topics]


def _server(contract: Contract, name: str | None) -> Server | None:
    if name is None:
        return None
    found = next((each for each in contract.servers if each.name == name), None)
    if found is None:
        known = [each.name for each in contract.servers]
        raise UsageMistake(f"--server {name}: the contract {contract.id} has no such server; {likely(name, known)}")
    return found
