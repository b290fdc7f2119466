"""What both clients do with an operation that they have no method of their own for."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import parse_qs, urlsplit

import pytest

from counterfoil.sdk import AsyncRegistry, Registry, UnexpectedReply, Visibility, operations
from counterfoil.sdk.transport import Reply

NAMES = [f"s{number:04}" for number in range(2500)]
SUBJECTS = operations.subjects(prefix=None, visibility=Visibility.WITH_DELETED)


class Listing:
    """A registry that lists names; it knows pages, or gives everything at each request."""

    def __init__(self, names, *, has_pages=True):
        self.names = names
        self.offsets = []
        self._has_pages = has_pages

    def send(self, request):
        query = parse_qs(urlsplit(request.url).query)
        offset, limit = int(query["offset"][0]), int(query["limit"][0])
        self.offsets.append(offset)
        found = self.names[offset:][:limit] if self._has_pages else self.names
        return Reply(200, {}, json.dumps(found).encode())

    async def asend(self, request):
        return self.send(request)


def call_all(client, transport, **options):
    """All entries of the listing, read by one of the clients."""
    if client is Registry:
        return Registry("http://one", transport=transport).call_all(SUBJECTS, **options)
    return asyncio.run(AsyncRegistry("http://one", transport=transport).call_all(SUBJECTS, **options))


@pytest.mark.parametrize("client", [Registry, AsyncRegistry])
def test_long_listings_are_read_page_by_page(client):
    listing = Listing(NAMES)
    assert call_all(client, listing) == tuple(NAMES)
    assert listing.offsets == [0, 1000, 2000]
    listing = Listing(NAMES[:2000])
    assert call_all(client, listing, page_size=2000) == tuple(NAMES[:2000])
    assert listing.offsets == [0, 2000]


@pytest.mark.parametrize("client", [Registry, AsyncRegistry])
def test_a_registry_without_pages_gives_everything_once(client):
    assert call_all(client, Listing(NAMES[:2000], has_pages=False)) == tuple(NAMES[:2000])
    assert call_all(client, Listing([], has_pages=False)) == ()


def test_an_answer_that_is_no_registrys_has_its_status():
    class Proxy:
        def send(self, _):
            return Reply(404, {"content-type": "text/html"}, b"<html>")

    with pytest.raises(UnexpectedReply, match="does not answer as a schema registry does") as caught:
        Registry("http://one", transport=Proxy()).call(operations.contexts())
    assert caught.value.status == 404
    assert "<html>" in caught.value.problem
