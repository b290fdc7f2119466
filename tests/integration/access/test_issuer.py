"""Tokens of a real issuer: the certified provider ``oidc-provider`` on Node.js, its discovery, rotation of keys."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import httpx
import pytest

from counterfoil.registry.access.file.values import AccessFile, Issuer
from counterfoil.registry.access.identities.authenticator import RegistryAuthenticator
from counterfoil.registry.access.identities.issuers import IssuerKeys, origin_of
from counterfoil.registry.access.identity import PresentedCredentials, UnprovenCaller, UnprovenReason
from local_services.javascript import node_packages, node_program

FOLDER = Path(__file__).with_name("issuer")


class Provider:
    """The running issuer."""

    def __init__(self):
        self._process = subprocess.Popen(
            [node_program(), FOLDER / "issuer.mjs", "commands"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NODE_PATH": str(node_packages(FOLDER))},
        )
        self.url = self._process.stdout.readline().strip()

    def change(self, what):
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def token(self):
        """Return an access token, as a program gets it with client credentials."""
        answer = httpx.post(
            f"{self.url}/token",
            data={"grant_type": "client_credentials", "scope": "read"},
            auth=("ci", "a-secret"),
            trust_env=False,
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["access_token"]

    def close(self):
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@pytest.fixture
def provider():
    made = Provider()
    yield made
    made.close()


def test_access_tokens_are_accepted_while_their_keys_are_published(provider):
    now = [0.0]
    issuer = Issuer(
        provider.url,
        ("schema-registry",),
        prefix="op:",
        require_at_jwt=True,
        groups_claims=("realm_access.roles",),
        required_claims={"client_id": "ci"},
    )

    async def story():
        auth = RegistryAuthenticator(
            AccessFile(Path("access.yaml"), issuers=(issuer,)),
            open_keys=lambda given: IssuerKeys(given, origin_of(given), clock=lambda: now[0]),
        )

        async def ask(token):
            return await auth.authenticate(PresentedCredentials(f"Bearer {token}".encode(), "127.0.0.1"))

        first = provider.token()
        found = await ask(first)
        assert (found.principal, found.issuer) == ("User:op:ci", provider.url)
        assert found.groups == {"Group:op:dev", "Group:op:ops"}

        assert provider.change("rotate") == 2
        second = provider.token()
        assert await ask(second) == UnprovenCaller(UnprovenReason.WRONG)  # the last fetch was less than 30 seconds ago
        now[0] += 31
        assert (await ask(second)).principal == "User:op:ci"
        assert (await ask(first)).principal == "User:op:ci"

        assert provider.change("withdraw") == 1
        assert (await ask(first)).principal == "User:op:ci"  # not known here before the next fetch
        now[0] += 31
        assert await ask(first + "x") == UnprovenCaller(UnprovenReason.WRONG)
        assert provider.change("rotate") == 2
        assert (await ask(provider.token())).principal == "User:op:ci"  # its key is new, so that keys are fetched
        assert await ask(first) == UnprovenCaller(UnprovenReason.WRONG)
        await auth.close()

    asyncio.run(story())
