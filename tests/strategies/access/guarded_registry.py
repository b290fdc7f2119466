"""A registry that demands credentials, and a real issuer of tokens that it accepts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from counterfoil.registry.access.identities.hashes import hash_password
from local_services import RegistryProcess, wait_until
from local_services.javascript import node_packages, node_program
from local_services.process import Service

_ISSUER: Final = Path(__file__).parents[2] / "integration" / "access" / "issuer"
_ADMIN: Final = ("admin", "the password of the administrator")
CLIENT_SECRET: Final = "a-secret"
LASTING, BRIEF = "ci", "brief"
"""Clients of the issuer: tokens of the first last ten minutes, those of the second two seconds.

The registry accepts a token for ten seconds more, so that a client that renews it in time is never refused, however
busy the machine is.
"""
_ACCESS: Final = """\
admins: [User:admin]
users: {{admin: '{hash}'}}
issuers:
  - {{issuer: "{issuer}", audience: [schema-registry], prefix: "op:", leeway_s: 10}}
rules:
  - {{allow: developer, to: "User:*", on: "*"}}
"""


def start_guarded_registry(folder: Path) -> dict[str, str]:
    """Start both with their files in the new ``folder``; return the arguments of ``GuardedRegistry``."""
    folder.mkdir()
    log = folder / "issuer.log"
    issuer = Service(
        "the issuer",
        [str(node_program()), str(_ISSUER / "issuer.mjs")],
        log=log,
        environment={"NODE_PATH": str(node_packages(_ISSUER))},
    )
    issuer.wait_ready(lambda: log.read_text().endswith("\n"))
    url = log.read_text().strip()
    access = folder / "access.yaml"
    access.write_text(_ACCESS.format(hash=hash_password(_ADMIN[1].encode()), issuer=url))
    registry = RegistryProcess(
        store=f"sqlite:///{folder}/guarded.db",
        log=folder / "guarded.log",
        settings={"COUNTERFOIL_AUTH_FILE": str(access)},
    )
    guarded = GuardedRegistry(registry.url, url)
    token = guarded.token(LASTING)
    wait_until(lambda: guarded.status(f"Bearer {token}") == 200, what="the keys of the issuer in the registry")
    return {"url": registry.url, "issuer": url}


@dataclass(frozen=True, slots=True)
class GuardedRegistry:
    """The registry at ``url``, whose administrator makes users and tokens, and the ``issuer`` of JWTs."""

    url: str
    issuer: str

    @property
    def token_url(self) -> str:
        """Where OAuth's clients get their tokens."""
        return f"{self.issuer}/token"

    def token(self, client: str) -> str:
        """Return an access token of a client of the issuer."""
        form = {"grant_type": "client_credentials", "scope": "read"}
        answer = httpx.post(self.token_url, data=form, auth=(client, CLIENT_SECRET), trust_env=False, timeout=60)
        return str(answer.raise_for_status().json()["access_token"])

    def status(self, authorization: str) -> int:
        """Return how a request with this header is answered."""
        headers = {"Authorization": authorization}
        return httpx.get(f"{self.url}/subjects", headers=headers, trust_env=False, timeout=60).status_code

    def administer(self, method: str, path: str, body: Any = None) -> Any:
        """Return the response to the administrator's request below ``/auth/v1``."""
        url = f"{self.url}/auth/v1/{path}"
        answer = httpx.request(method, url, json=body, auth=_ADMIN, trust_env=False, timeout=60)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a program that uses the registry, makes users and tokens, and gets tokens."""
        return {
            **os.environ,
            "GUARDED_URL": self.url,
            "GUARDED_ADMIN": ":".join(_ADMIN),
            "TOKEN_URL": self.token_url,
            "NO_PROXY": "127.0.0.1",
            **more,
        }
