"""The connection to PostgreSQL: TLS whose certificates are verified, and roles without the right to change tables."""

from __future__ import annotations

import asyncio
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import asyncpg
import pytest

from counterfoil.registry.search.opening import open_index
from counterfoil.registry.search.protocol import IndexUnusable
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.upgrading import upgrade
from counterfoil.registry.store.writes import StoreNotUsable
from local_services import PostgresClient, PostgresServer
from strategies.access.certificates import Authority
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]


class Secured:
    """A PostgreSQL with TLS, whose certificate is for 127.0.0.1, and one database of it."""

    def __init__(self, server: PostgresServer, authority: Authority) -> None:
        self.server = server
        self.authority = authority
        self.database = "secured"
        server.create_database(self.database)
        server.run("CREATE ROLE certified LOGIN SUPERUSER")

    def url(self, mode: str, *, host: str = "127.0.0.1", user: str = "counterfoil", **files: Path) -> str:
        query = "".join(f"&{name}={quote(str(path))}" for name, path in files.items())
        return f"postgresql://{user}@{host}:{self.server.port}/{self.database}?sslmode={mode}{query}"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder)
    with PostgresServer(tls=(*authority.issue("server"), authority.file)) as server:
        yield Secured(server, authority)


def is_used(url: str, server: PostgresClient, database: str) -> set[tuple[bool, str]]:
    """Write to the store and read from it; return whether its connections have TLS, and as whom they are."""
    storage = open_store(url)  # which runs an event loop of its own

    async def story() -> set[tuple[bool, str]]:
        registry = InProcessRegistry(storage)
        try:
            subject = uuid.uuid4().hex
            assert (await registry.register(subject, '"int"')).status == 200
            assert (await registry.get(f"/subjects/{subject}/versions")).json == [1]
            found = await asyncio.to_thread(
                server.run,
                "SELECT s.ssl, a.usename FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) "
                f"WHERE a.datname = '{database}' AND a.backend_type = 'client backend'",
            )
            return {(each["ssl"], each["usename"]) for each in found}
        finally:
            await storage.close()

    return asyncio.run(story())


def test_a_certificate_that_is_verified(secured: Secured) -> None:
    url = secured.url("verify-full", sslrootcert=secured.authority.file)
    assert is_used(url, secured.server, secured.database) == {(True, "counterfoil")}


def test_a_client_certificate_is_the_login(secured: Secured) -> None:
    certificate, key = secured.authority.issue("certified")
    files = {"sslrootcert": secured.authority.file, "sslcert": certificate, "sslkey": key}
    url = secured.url("verify-full", user="certified", **files)
    assert is_used(url, secured.server, secured.database) == {(True, "certified")}
    with pytest.raises(StoreNotUsable, match="the server refuses the user"):
        open_store(secured.url("verify-full", user="certified", sslrootcert=secured.authority.file))


def test_what_cannot_be_verified_is_no_store(secured: Secured, postgres_url: str, tmp_path: Path) -> None:
    other, own = Authority(tmp_path, "other").file, secured.authority.file
    with pytest.raises(StoreNotUsable, match=r"TLS with the server failed \(.*CERTIFICATE_VERIFY_FAILED.*sslrootcert"):
        open_store(secured.url("verify-full", sslrootcert=other))
    with pytest.raises(StoreNotUsable, match=r"TLS with the server failed .*localhost"):
        open_store(secured.url("verify-full", host="localhost", sslrootcert=own))
    open_store(secured.url("verify-ca", host="localhost", sslrootcert=own))
    with pytest.raises(StoreNotUsable, match="rejected SSL upgrade"):  # it has no TLS
        open_store(f"{postgres_url}?sslmode=verify-full&sslrootcert={quote(str(own))}")
    with pytest.raises(StoreNotUsable, match=r"sslrootcert='/nowhere/ca\.pem' in the store's URL is no file"):
        open_store(f"{postgres_url}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem")


def prepare_index(url: str) -> None:
    """Make the search index of a store."""
    database = open_index(url).database

    async def story() -> None:
        try:
            await database.prepare()
        finally:
            await database.close()

    asyncio.run(story())


def documented_sql() -> Iterator[list[str]]:
    """The statements of each row of the table about two roles on the page about TLS."""
    for row in (ROOT / "docs/tls.md").read_text().splitlines():
        if found := re.findall(r"`((?:CREATE|GRANT|ALTER) [^`]+)`", row):
            yield found


def test_servers_can_use_a_role_that_changes_no_table(secured: Secured) -> None:
    roles, rights, of_index = documented_sql()
    for statement in roles:
        secured.server.run(statement)
    missing = r"the user may not create or use the registry's tables \(permission denied for database"
    with pytest.raises(StoreNotUsable, match=missing):
        open_store(secured.server.url("registry", user="registry_server"))
    upgrade(secured.server.url("registry", user="registry_owner"))
    secured.server.run(";;".join(["SET ROLE registry_owner", *rights]), database="registry")
    url = f"{secured.server.url('registry', user='registry_server')}?sslmode=require"
    assert is_used(url, secured.server, "registry") == {(True, "registry_server")}
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="must be owner"):
        secured.server.run("SET ROLE registry_server;;DROP TABLE counterfoil.changes", database="registry")
    with pytest.raises(IndexUnusable, match="permission denied for database"):
        prepare_index(url)
    secured.server.run(";;".join(["SET ROLE registry_owner", *of_index]), database="registry")
    prepare_index(url)
    [made] = secured.server.run(
        "SELECT pg_get_userbyid(nspowner) AS owner FROM pg_namespace WHERE nspname = 'counterfoil_search'",
        database="registry",
    )
    assert made["owner"] == "registry_server"
