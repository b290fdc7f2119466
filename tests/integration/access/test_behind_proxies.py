"""A server behind proxies that its access file lists: addresses of clients, and what is sent over TLS."""

from __future__ import annotations

import base64
import http.client
from typing import TYPE_CHECKING

from strategies.registry.served import served

if TYPE_CHECKING:
    from pathlib import Path

ACCESS = """
proxy: {{addresses: [{listed}], user_header: x-forwarded-user, prefix: "proxy:"}}
anonymous: [{{allow: READ, on: "*"}}]
"""


def asked(port: int, path: str = "/subjects", **headers: str) -> tuple[int, str | None]:
    """The status of a response, and its Strict-Transport-Security."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        reply.read()
        return reply.status, reply.getheader("strict-transport-security")
    finally:
        connection.close()


def test_only_a_listed_proxy_says_that_a_request_came_over_tls(tmp_path: Path) -> None:
    access = tmp_path / "access.yaml"
    access.write_text(ACCESS.format(listed="127.0.0.1"))
    strict = "max-age=60"
    with served(tmp_path, auth_file=str(access), hsts_max_age_s="60") as (port, _):
        for _ in range(2):  # the second response comes from memory
            assert asked(port) == (200, None)
            assert asked(port, x_forwarded_proto="http") == (200, None)
            assert asked(port, x_forwarded_proto="https") == (200, strict)
            assert asked(port, x_forwarded_proto="HTTPS ") == (200, strict)
            assert asked(port, x_forwarded_proto="https, http") == (200, None)
            assert asked(port, "/nowhere", x_forwarded_proto="https") == (404, strict)
    access.write_text(ACCESS.format(listed="127.0.0.2"))
    with served(tmp_path, auth_file=str(access), hsts_max_age_s="60") as (port, _):
        assert asked(port, x_forwarded_proto="https") == (200, None)


def test_clients_of_a_proxy_have_limits_of_their_own(tmp_path: Path) -> None:
    access = tmp_path / "access.yaml"
    access.write_text(ACCESS.format(listed="127.0.0.1"))
    wrong = "Basic " + base64.b64encode(b"eve:guess").decode()
    with served(tmp_path, auth_file=str(access), rate_limit="1", rate_burst="2") as (port, _):
        found = [asked(port, x_forwarded_for=f"192.0.2.{number}")[0] for number in (1, 1, 1, 2)]
        assert found == [200, 200, 429, 200]
        found = [
            asked(port, x_forwarded_for=f"192.0.2.9, 198.51.100.{n}", authorization=wrong)[0] for n in (1, 1, 1, 2)
        ]
        assert found == [401, 401, 429, 401]
        assert asked(port, x_forwarded_for="198.51.100.1", x_forwarded_user="ana")[0] == 200  # counted by name
