"""What a caller may not know is answered as what does not exist: two registries, of which one has things of others.

The judge is the second registry: it has the things of the caller's own team alone, so that it cannot show others. Every
route is requested by every caller who has no right to them, about them and beside them. With ``denied_reads`` 404 the
responses of both are the same, with their headers. By default a schema id, a guid, and what is found through a contract
or an application is 403, which names nothing; everything else is the same there, too.
"""

from __future__ import annotations

import asyncio

import pytest

from strategies.access.absent_things import (
    MORE_OUTSIDERS,
    NAMES_OF_NOTHING,
    OUTSIDERS,
    C,
    declared_differences,
    differences,
    world,
)
from strategies.access.callers import access
from strategies.access.matrix import CELLS, request
from strategies.registry.declared_requests import THINGS, VALUES, declared_operations
from strategies.registry.driver import InProcessRegistry

MODES = pytest.mark.parametrize("denied_reads", ["403", "404"])


@pytest.mark.slow
@MODES
def test_what_may_not_be_known_is_answered_as_what_does_not_exist(denied_reads: str) -> None:
    assert asyncio.run(differences(denied_reads, OUTSIDERS)) == []


@pytest.mark.slow
@MODES
def test_each_declared_parameter_of_each_route_confirms_nothing(denied_reads: str) -> None:
    """The requests are made of the description of the API, so that a new route, or a new parameter, has its own."""
    assert asyncio.run(declared_differences(denied_reads, OUTSIDERS)) == []


@pytest.mark.slow
def test_every_declared_parameter_is_known_to_the_comparison() -> None:
    """It names a thing, or it does not: a new parameter is added to one of the two tables."""
    operations = asyncio.run(declared_operations(InProcessRegistry()))
    declared = {name for each in operations for name in (*each.placed, *each.required, *each.optional)}
    assert declared == {*THINGS, *VALUES} - {"if-match"}


@pytest.mark.long
@MODES
def test_so_it_is_for_other_callers(denied_reads: str) -> None:
    assert asyncio.run(differences(denied_reads, MORE_OUTSIDERS)) == []


def test_an_application_that_may_not_be_known_is_not_ignored() -> None:
    """Its name would be confirmed by a verdict that changes."""

    async def story() -> None:
        registry = (await world(others=True)).registry
        for path in ("can-i-deploy?application=own&version=1&environment=own", "can-i-merge?application=own&version=1"):
            first, second = [
                await registry.send("GET", f"{C}/{path}&ignore={name}", "owner") for name in ("foreign", "elsewhere")
            ]
            assert first.text == second.text
        known = await registry.send("GET", f"{C}/can-i-merge?application=own&version=1&ignore=foreign", "admin")
        assert known.json["deployable"] is True

    asyncio.run(story())


@pytest.mark.slow
def test_nobody_is_refused_where_there_is_nothing_to_show(caplog: pytest.LogCaptureFixture) -> None:
    """In an empty registry, too, each list asks about rights: its answer is an empty list, and no defect is logged."""

    async def story() -> None:
        registry = InProcessRegistry(access=access())
        for cell in CELLS:
            method, path, body = request(cell, NAMES_OF_NOTHING)
            if method == "GET":
                reply = await registry.send(method, path, "admin", body)
                assert reply.status != 403, path
        for path in ("/contexts?contextPrefix=none", "/schemas?subjectPrefix=none"):
            assert (await registry.send("GET", path, "nobody")).text == "[]"

    asyncio.run(story())
    assert "a defect of this server" not in caplog.text
