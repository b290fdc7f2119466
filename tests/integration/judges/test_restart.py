"""A registry that is stopped, or killed, while its judges are busy: nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from local_services import RegistryProcess, wait_until
from strategies.cases.dear_inputs import GENES, json_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WRITERS: Final = 3
FIELDS: Final = 300
DEAR: Final = {gene: low for gene, (low, _) in GENES.items()} | {"definitions": 14, "links": 2, "change": 1}
BEFORE_AND_AFTER: Final = 4
UNAVAILABLE: Final = 503


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/registry.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def ask(url: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Return the status, 0 if there is no answer, and the JSON of a response."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"{url}{path}", data, {"Content-Type": "application/json"}), timeout=120
        ) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")
    except (OSError, ValueError):
        return 0, None


def text(name: str) -> str:
    """A schema of more than 8 kB, which a judge parses."""
    fields = [{"name": f"field_{at}", "type": "int"} for at in range(FIELDS)]
    return json.dumps({"type": "record", "name": name, "fields": fields})


class Load:
    """Writers of large schemas, and one caller whose comparisons keep the judges busy."""

    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = url, name
        self._is_over = threading.Event()
        self.acknowledged: dict[str, tuple[int, str]] = {}
        self.statuses: Counter[int] = Counter()

    def write(self, writer: int) -> None:
        number = 0
        while not self._is_over.is_set():
            number += 1
            subject = f"{self._name}-{writer}-{number}"
            schema = text(f"{self._name}_{writer}_{number}")
            status, reply = ask(self._url, f"/subjects/{subject}/versions", {"schema": schema})
            self.statuses[status] += 1
            if status == 200:
                self.acknowledged[subject] = (reply["id"], schema)

    def attack(self) -> None:
        ask(self._url, "/subjects/dear/versions", {"schema": json_text(DEAR, is_later=False), "schemaType": "JSON"})
        later = {"schema": json_text(DEAR, is_later=True), "schemaType": "JSON"}
        while not self._is_over.is_set():
            ask(self._url, "/compatibility/subjects/dear/versions?verbose=true", later)

    @contextmanager
    def running(self) -> Iterator[None]:
        works = [threading.Thread(target=self.write, args=(each,)) for each in range(WRITERS)]
        works.append(threading.Thread(target=self.attack))
        for each in works:
            each.start()
        try:
            yield
        finally:
            self._is_over.set()
            for each in works:
                each.join()


@pytest.mark.long
@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_a_restart_beside_busy_judges_loses_nothing(store: str, ending: str, tmp_path: Path) -> None:
    with RegistryProcess(store=store, log=tmp_path / "first.log") as first:
        load = Load(first.url, "first")
        with load.running():
            wait_until(lambda: len(load.acknowledged) >= BEFORE_AND_AFTER, what="writes")
            if ending == "killed":
                first.kill()
            else:
                assert first.stop() == 0
            gone = load.statuses[0] + 1
            wait_until(lambda: load.statuses[0] >= gone, what="requests that nobody answers")
    assert set(load.statuses) <= {0, 200, UNAVAILABLE}
    with RegistryProcess(store=store, log=tmp_path / "second.log") as second:
        for subject, (schema_id, schema) in load.acknowledged.items():
            status, version = ask(second.url, f"/subjects/{subject}/versions/1")
            assert (status, version["id"], json.loads(version["schema"])) == (200, schema_id, json.loads(schema))
        later = Load(second.url, "second")
        with later.running():
            wait_until(lambda: len(later.acknowledged) >= BEFORE_AND_AFTER, what="writes afterwards")
        known = {schema_id for schema_id, _ in load.acknowledged.values()}
        assert known.isdisjoint(schema_id for schema_id, _ in later.acknowledged.values())
