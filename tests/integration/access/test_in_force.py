"""The access file in force in the application: requests with passwords, and changes of the file while it runs."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import logging
import os
import time

import pytest

from counterfoil.registry.access.file.in_force import AccessInForce
from counterfoil.registry.access.file.values import InvalidAccessFile
from counterfoil.registry.access.gate import AccessControl
from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry

ACCESS = """\
admins: [User:alice]
htpasswd: users.htpasswd
rules:
  - {allow: developer, to: User:bob, on: "pay.*"}
open: [metrics]
"""


@pytest.fixture
def path(tmp_path):
    import bcrypt

    users = [f"{name}:{bcrypt.hashpw(name.encode(), bcrypt.gensalt(4)).decode()}" for name in ("alice", "bob")]
    write(tmp_path / "users.htpasswd", "\n".join(users))
    write(tmp_path / "access.yaml", ACCESS)
    return tmp_path / "access.yaml"


def write(path, text):
    """Write a file that looks as if it was written a while ago."""
    path.write_text(text)
    then = time.time() - 60
    os.utime(path, (then, then))


class World:
    """The application with an access file."""

    def __init__(self, path):
        self.access = AccessInForce(path)
        self.registry = InProcessRegistry(access=AccessControl(self.access.authenticator, self.access.policy))

    async def ask(self, method, path, name=None, *, password=None, body=None):
        headers = {"Content-Type": MEDIA_TYPE} if body is not None else {}
        if name is not None:
            sent = base64.b64encode(f"{name}:{password or name}".encode()).decode()
            headers["Authorization"] = f"Basic {sent}"
        return await self.registry.ask(method, path, None if body is None else json.dumps(body).encode(), headers)

    async def register(self, subject, name):
        return await self.ask("POST", f"/subjects/{subject}/versions", name, body={"schema": '"string"'})


def test_requests_have_the_rights_of_the_file(path):
    async def story():
        world = World(path)
        assert (await world.ask("GET", "/subjects")).status == 401
        assert (await world.ask("GET", "/subjects", "alice", password="wrong")).code == 401
        assert (await world.ask("GET", "/metrics")).status == 200
        assert (await world.register("pay.a-value", "bob")).status == 200
        assert (await world.register("other-value", "bob")).code == 40301
        assert (await world.register("other-value", "alice")).status == 200
        assert (await world.ask("GET", "/subjects", "bob")).json == ["pay.a-value"]
        assert (await world.ask("GET", "/subjects", "alice")).json == ["other-value", "pay.a-value"]
        for number in itertools.count():  # more are allowed while time passes
            reply = await world.ask("GET", "/subjects", "bob", password=f"guess{number}")
            if reply.status != 401:
                break
        assert number >= 10
        assert (reply.status, 1 <= int(reply.headers["retry-after"]) <= 6) == (429, True)
        assert (await world.ask("GET", "/subjects", "bob")).status == 200  # remembered

    asyncio.run(story())


async def until(condition):
    """Wait until ``condition`` returns something true, for at most a minute."""
    async with asyncio.timeout(60):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.01)


def test_a_change_of_the_file_is_in_force_while_requests_arrive(path, caplog):
    async def story():
        world = World(path)

        async def answers(place, status):
            return (await world.ask("GET", place, "bob")).status == status

        async def is_refused():
            """Whether the whole file was read: a part of it, while it is written, is refused as well."""
            return f"{path}:1:10: an administrator must be" in caplog.text

        running = asyncio.create_task(world.access.run(every_s=0.01))
        assert (await world.register("pay.a-value", "bob")).status == 200

        write(path, ACCESS.replace("pay.*", "orders.*"))
        await until(lambda: answers("/subjects/pay.a-value/versions", 403))
        assert (await world.register("orders.a-value", "bob")).status == 200

        write(path, "admins: [bob]\n")
        await until(is_refused)
        assert not world.access.is_valid
        assert (await world.register("orders.b-value", "bob")).status == 200  # the old rules stay

        write(path, ACCESS)
        users = path.with_name("users.htpasswd")
        write(users, users.read_text().replace("bob:", "bob:!"))
        await until(lambda: answers("/subjects", 401))
        assert world.access.is_valid
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())


def test_a_server_cannot_start_with_a_broken_file_and_logs_what_is_doubtful(path, caplog):
    with caplog.at_level(logging.WARNING):
        AccessInForce(path)
    assert "weak hash: alice: bcrypt with cost 4" in caplog.text
    write(path, "admins: [bob]\n")
    with pytest.raises(InvalidAccessFile):
        AccessInForce(path)
