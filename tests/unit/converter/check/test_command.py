"""What ``bridge check`` leaves behind when it fails."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.bridge import parse_bridge_file, resolve
from counterfoil.converter.check.command import check_with
from counterfoil.converter.errors import BrokerUnreachable
from counterfoil.schema.model import Schema
from counterfoil.sdk.testing import InMemoryRegistry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RIDE = Schema(json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}))


class EmptyTopics:
    """A cluster in which every topic has one partition and no records."""

    def rights(self, topics: Iterable[str]) -> dict[str, None]:
        return dict.fromkeys(topics)

    def partition_count(self, _topic: str) -> int:
        return 1

    def settings(self, _topic: str) -> dict[str, str]:
        return {}

    def watermarks(self, _topic: str) -> dict[int, tuple[int, int]]:
        return {0: (0, 0)}

    def sample(self, _topic: str, _offsets: object) -> Iterable[Any]:
        return ()


class LostSession:
    """A session whose Java program is gone."""

    def createDataFrame(self, *_arguments: Any) -> None:  # noqa: N802 - the name of Spark's method
        raise BrokerUnreachable("broker", reason="away")


def test_a_check_that_fails_stops_spark():
    stopped: list[bool] = []

    @contextmanager
    def session() -> Iterator[Any]:
        try:
            yield LostSession()
        finally:
            stopped.append(True)

    with InMemoryRegistry().client() as registry:
        for subject in ("in-value", "out-value"):
            registry.register(subject, RIDE)
        bridge = resolve(parse_bridge_file("bridge: b\nsource: {topic: in}\ntarget: {topic: out}\n"), registry)
    cluster: Any = EmptyTopics()
    with pytest.raises(BrokerUnreachable):
        check_with(bridge, cluster, session, engine="reference", size=1, seed=0)
    assert stopped == [True]
