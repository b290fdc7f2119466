"""The cost of credentials: answers by id with each method, beside the same requests to a server that demands none."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from load import Run, measure, warm_up
from rows import BY_ID
from servers import start_registry
from table import described, median

if TYPE_CHECKING:
    from plan import Plan
    from stores import Stores
    from table import Scores

_PASSWORD: Final = "a password of the benchmark"
_ISSUER: Final = "https://issuer.example"
_RULES: Final = 100
_JWT_BYTES: Final = 1000
_TURNS: Final = 3
"""The differences are small: each pair is measured this many times in a round."""


@dataclass(frozen=True, slots=True)
class _Method:
    """A way to prove who calls: its header, and the goals for CPU time and for the share of the requests."""

    name: str
    header: str
    at_most_us: float
    at_least: float


def compare(plan: Plan, stores: Stores, folder: Path, scores: Scores) -> None:
    """Measure, and print figures and goals."""
    scores.begin(f"{stores.title}: credentials, answers by id", "beside the same requests without authentication")
    demanding = stores.copied(plan.smallest)
    methods = _prepared(demanding, folder)
    options = ("--auth-file", str(folder / "access.yaml"))
    with (
        start_registry(stores.copied(plan.smallest), folder) as open_server,
        start_registry(demanding, folder, options=options, path="/health/live") as server,
    ):
        pairs: dict[str, list[tuple[Run, Run]]] = {each.name: [] for each in methods}
        requests = {each.name: _with_header(BY_ID.requests(plan.smallest), each.header) for each in methods}
        for each in requests.values():
            warm_up(each, [open_server])
            warm_up(each, [server])
        for number in range(plan.rounds * _TURNS):
            for name, sent in requests.items():
                order = [open_server, server][:: 1 if number % 2 else -1]
                runs = [measure(sent, [each], seconds=1) for each in order]
                pairs[name].append((runs[order.index(open_server)], runs[order.index(server)]))
    for each in methods:
        _score(each, pairs[each.name], scores)


def _score(method: _Method, pairs: list[tuple[Run, Run]], scores: Scores) -> None:
    without, demanded = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    print(f"  {method.name:24} {described(demanded)}   without {described(without)}", flush=True)
    cost_us = median(demanded, lambda run: run.server_us) - median(without, lambda run: run.server_us)
    share = median(demanded, lambda run: run.per_s) / median(without, lambda run: run.per_s)
    scores.at_most(f"{method.name}: CPU time more", cost_us, method.at_most_us, unit=" us")
    scores.at_least(f"{method.name}: share of the requests", share, method.at_least)


def _with_header(requests: list[bytes], header: str) -> list[bytes]:
    line = f"\r\nauthorization: {header}\r\n\r\n".encode()
    return [request.removesuffix(b"\r\n\r\n") + line for request in requests]


def _prepared(store: str, folder: Path) -> list[_Method]:
    """Have ``store`` demand credentials, and write the access file; return the methods with their headers."""
    auth("init", "--store", store, "--user", "root", "--password-stdin", stdin=_PASSWORD)
    auth("user", "add", "team", "--password-stdin", "--store", store, stdin=_PASSWORD)
    token = auth("token", "create", "bench", "--for", "User:root", "--store", store).strip()
    signed = _jwt(folder / "keys.json")
    mine = [f"  - {{allow: reader, to: User:team, on: {_pattern(number)}}}" for number in range(_RULES)]
    issuer = f"{{issuer: '{_ISSUER}', audience: bench, prefix: 'jwt:', jwks_file: keys.json}}"
    text = "\n".join([f"issuers: [{issuer}]", "admins: [User:jwt:bench]", "rules:", *mine, ""])
    (folder / "access.yaml").write_text(text)
    return [
        _Method("basic", _basic("root"), 2, 0.92),
        _Method("token", f"Bearer {token}", 2, 0.92),
        _Method(f"JWT of {len(signed)} bytes", f"Bearer {signed}", 3, 0.88),
        _Method(f"basic, {_RULES} rules", _basic("team"), 3, 0.88),
    ]


def _pattern(number: int) -> str:
    return '"*"' if number == _RULES - 1 else f'"other-{number}.*"'


def _basic(user: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{_PASSWORD}".encode()).decode()


def auth(*arguments: str, stdin: str = "") -> str:
    """Run ``counterfoil auth``; return its output."""
    counterfoil = str(Path(sys.executable).with_name("counterfoil"))
    command = [counterfoil, "auth", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout


def _jwt(keys: Path) -> str:
    """Write a key set, and return a token of about a kilobyte that its key has signed."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    keys.write_text(json.dumps({"keys": [{**public, "kid": "bench", "use": "sig", "alg": "RS256"}]}))
    now = int(time.time())
    claims = {"iss": _ISSUER, "sub": "bench", "aud": "bench", "iat": now, "exp": now + 7200}

    def signed(filling: int) -> str:
        return jwt.encode({**claims, "x": "x" * filling}, key, algorithm="RS256", headers={"kid": "bench"})

    return signed(max(0, (_JWT_BYTES - len(signed(0))) * 3 // 4))
