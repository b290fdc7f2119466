"""pytest's fixtures ``contract`` and ``stream``, and the options that compare what tests read with a consumer's file.

pytest finds the plugin by entry point. Nothing is imported before a test uses a fixture, or an option is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from counterfoil.contracts.testkit.session import CONSUMER_INI, SESSION

if TYPE_CHECKING:
    from counterfoil.contracts.generate.library import FoundContract
    from counterfoil.contracts.testkit.stream import Stream


_MARKER = "contract"
_INI = "counterfoil_contract"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings."""
    group = parser.getgroup("counterfoil")
    group.addoption("--record-reads", metavar="FILE", help="add the paths that the tests read to this product file")
    group.addoption("--check-reads", action="store_true", help="fail a test that reads a path that is not declared")
    parser.addini(_INI, "the contract of the fixture `contract`: an id, a topic or a file")
    parser.addini(
        CONSUMER_INI, "the product file whose reads --check-reads compares with; default: that of the project"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin with the contracts of the root folder, and record what is read if an option asks for it."""
    config.addinivalue_line("markers", f"{_MARKER}(name, topic=None): the contract of the fixture `contract`")
    SESSION.begin(str(config.rootpath))
    if config.getoption("record_reads") or config.getoption("check_reads"):
        from counterfoil.contracts.testkit.reads_plugin import ReadsPlugin

        config.pluginmanager.register(ReadsPlugin(config), "counterfoil-reads")


@pytest.fixture
def contract(request: pytest.FixtureRequest) -> FoundContract:
    """Return the contract that the marker ``contract`` names, or the setting ``counterfoil_contract``."""
    marker = request.node.get_closest_marker(_MARKER)
    name = marker.args[0] if marker is not None and marker.args else request.config.getini(_INI)
    if not name:
        raise pytest.UsageError(
            f"the fixture contract needs the name of one: mark the test with pytest.mark.{_MARKER}('orders.placed'), "
            f"or set {_INI} in pytest's section"
        )
    topic = marker.kwargs.get("topic") if marker is not None else None
    return SESSION.library().find(name, topic)


@pytest.fixture
def stream() -> Stream:
    """Return what makes records of topics, with an empty registry in the memory of this process, for one test."""
    from counterfoil.contracts.testkit.stream import Stream

    return Stream(SESSION)
