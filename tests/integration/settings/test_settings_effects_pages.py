"""Each setting of the pages has an effect that a user would notice."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING

from strategies.registry.served import REGISTRATION, ask, served

if TYPE_CHECKING:
    from pathlib import Path

    from local_services.process import Service


def page(port: int, path: str) -> tuple[int, str]:
    """Return the status and the text of the response to a browser."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", path, headers={"Accept": "text/html"})
    reply = connection.getresponse()
    found = reply.status, reply.read().decode()
    connection.close()
    return found


def made(folder: Path, name: str) -> Path:
    """Return a new folder for one server."""
    (folder / name).mkdir()
    return folder / name


def first_line(service: Service) -> str:
    """Return the line that the server prints when it serves."""
    return next(line for line in service.log_tail().splitlines() if line.startswith("counterfoil registry listening"))


def test_ui_has_an_effect(tmp_path: Path) -> None:
    with served(made(tmp_path, "read")) as (port, service):
        assert page(port, "/ui/")[0] == 200
        assert first_line(service).endswith(f", pages at http://127.0.0.1:{port}/ui/")
    with served(made(tmp_path, "off"), ui="off") as (port, service):
        assert page(port, "/ui/")[0] in {404, 406}
        assert first_line(service).endswith(f":{port}")


def test_ui_names_has_an_effect(tmp_path: Path) -> None:
    for names, link in (("path", "/ui/subjects/a%2Fb"), ("query", "/ui/subject?name=a%2Fb")):
        with served(made(tmp_path, names), ui_names=names) as (port, _):
            assert ask("127.0.0.1", port, "POST", "/subjects/a%2Fb/versions", **REGISTRATION)[0] == 200
            assert f'href="{link}"' in page(port, "/ui/subjects")[1]
            assert page(port, "/ui/subjects/a%2Fb")[0] == page(port, "/ui/subject?name=a%2Fb")[0] == 200


def test_public_path_has_an_effect(tmp_path: Path) -> None:
    with served(tmp_path, public_path="/registry") as (port, service):
        assert 'href="/registry/ui/static/' in page(port, "/ui/")[1]
        assert first_line(service).endswith(f":{port}/registry/ui/")
