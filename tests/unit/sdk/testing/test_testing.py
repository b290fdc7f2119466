"""The in-memory registry as a tool for tests; what it answers is in the contract suite of the clients."""

from __future__ import annotations

import asyncio
import doctest
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.compatibility.policies import CompatibilityLevel
from counterfoil.schema.errors import (
    BadRequest,
    IncompatibleSchema,
    MethodNotAllowed,
    MissingBody,
    NotFound,
    Unauthorized,
)
from counterfoil.schema.model import Schema
from counterfoil.sdk import (
    AvroSerializer,
    BearerToken,
    Config,
    Mode,
    RegistryUnavailable,
    SerializationContext,
    subjects,
)
from counterfoil.sdk.operations import Operation, read_reply
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.testing import registries as in_memory
from counterfoil.sdk.transport import NoReply, Reply, Request

SEGMENTS = (
    "subjects s versions 1 latest schema config mode schemas ids guids compatibility contexts .c metadata referencedby "
    "%ff -1 ² " + "9" * 5000
).split()
STRING, INT = Schema('"string"'), Schema('"int"')


@pytest.mark.parametrize("module", [in_memory, subjects], ids=lambda module: module.__name__)
def test_the_examples_run(module):
    tried = doctest.testmod(module)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_both_clients_see_one_registry():
    memory = InMemoryRegistry()
    with memory.client() as client:
        client.register("s", STRING)

    async def look():
        async with memory.async_client() as client:
            return await client.schema_by_id(1)

    assert asyncio.run(look()) == STRING


def test_it_notes_what_was_asked():
    memory = InMemoryRegistry()
    client = memory.client()
    client.register("s", STRING)
    client.register("s", STRING)
    assert [(request.method, request.url) for request in memory.requests] == [
        ("POST", "http://registry.invalid/subjects/s/versions")
    ]


def test_it_fails_as_it_is_reported_and_only_so_often():
    memory = InMemoryRegistry()
    client = memory.client(retries=0)
    memory.answer_next(NoReply("cable cut"), Reply(404, {}, b'{"error_code": 40403, "message": "gone"}'))
    with pytest.raises(RegistryUnavailable, match="cable cut"):
        client.subjects()
    with pytest.raises(Exception, match="gone"):
        client.subjects()
    assert client.subjects() == ()


def test_the_level_is_the_one_that_it_was_made_with():
    client = InMemoryRegistry(level=CompatibilityLevel.NONE).client()
    client.register("s", STRING)
    assert client.register("s", INT).version == 2
    strict = InMemoryRegistry().client()
    strict.register("s", STRING)
    with pytest.raises(IncompatibleSchema) as caught:
        strict.register("s", INT)
    assert caught.value.code == 40901


def test_aliases_normalization_and_import_mode_work_as_in_every_registry():
    memory = InMemoryRegistry()
    client = memory.client()
    client.register("orders", STRING)
    client.set_config("o", Config(alias="orders"))
    assert client.version("o", "latest").subject == "orders"
    client.set_config(None, Config(normalize=True))
    loose = Schema('{"type": "record", "name": "R", "fields": [{"type": ["null", {"type": "string"}], "name": "a"}]}')
    assert client.register("n", loose).id == client.register("n", Schema(json.dumps(json.loads(loose.text)))).id
    client.set_mode("imported", Mode.IMPORT)
    body = b'{"schema": "\\"string\\"", "id": 100, "version": 7}'
    assert memory.send(Request("POST", "http://h/subjects/imported/versions", {}, body)).status == 200
    assert client.version("imported", 7).schema == STRING


def test_every_test_has_a_registry_of_its_own():
    InMemoryRegistry().client().register("s", STRING)
    assert InMemoryRegistry().client().subjects() == ()


@pytest.mark.slow
def test_an_absent_extra_is_named(tmp_path):
    code = (
        "import sys; sys.modules['starlette.applications'] = None\n"
        "from counterfoil.sdk.testing import InMemoryRegistry\nInMemoryRegistry()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert 'pip install "counterfoil[registry]"' in found.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("GET", "/nowhere", None, NotFound),
        ("GET", "/schemas/ids/abc", None, NotFound),
        ("PATCH", "/config", None, MethodNotAllowed),
        ("POST", "/subjects/s/versions", None, MissingBody),
        ("POST", "/subjects/s/versions", b"{", BadRequest),
        ("POST", "/subjects/s/versions", b"[]", BadRequest),
        ("POST", "/subjects/s/versions", b'{"schema": {}}', BadRequest),
        ("PUT", "/config", b'{"normalize": []}', BadRequest),
        ("PUT", "/mode", b'{"mode": []}', BadRequest),
    ],
)
def test_a_malformed_request_is_an_answer(method, path, body, kind):
    reply = InMemoryRegistry().send(Request(method, f"http://h{path}", {}, body))
    with pytest.raises(kind):
        read_reply(Operation("any", method, path, lambda node: node), reply)


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE"]),
    segments=st.lists(st.sampled_from(SEGMENTS), max_size=5),
    query=st.sampled_from(["", "?deleted=true", "?permanent=true", "?subject=:.c:", "?defaultToGlobal=true"]),
    body=st.none()
    | st.sampled_from([b'{"schema": "\\"int\\""}', b'{"mode": "IMPORT"}', b'{"compatibility": "X"}', b"{}", b"null"])
    | st.binary(max_size=5),
)
def test_every_request_has_an_answer(method, segments, query, body):
    memory = InMemoryRegistry()
    memory.client().register("s", STRING)
    reply = memory.send(Request(method, f"http://h/{'/'.join(segments)}{query}", {}, body))
    if reply.status >= 400:
        assert {"error_code", "message"} == json.loads(reply.body).keys()


@pytest.mark.slow
def test_threads_that_register_the_same_get_one_id_and_one_version():
    memory = InMemoryRegistry()
    schemas = [Schema(f'{{"type":"enum","name":"E{number}","symbols":["A"]}}') for number in range(5)]

    def register(number):
        return memory.client().register(f"s{number % 5}", schemas[number % 5])

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(register, range(100)))
    assert {registered.version for registered in found} == {1}
    assert len({(registered.subject, registered.id) for registered in found}) == 5
    assert {registered.id for registered in found} == {1, 2, 3, 4, 5}


def test_credentials_can_be_demanded():
    registry = InMemoryRegistry(auth=BearerToken("right"))
    with registry.client(auth="wrong") as client, pytest.raises(Unauthorized, match="does not accept"):
        client.subjects()
    with registry.client(auth="right") as client:
        assert client.subjects() == ()
        with pytest.raises(Unauthorized):
            AvroSerializer(registry.client(), '"string"')("a", SerializationContext("t"))
