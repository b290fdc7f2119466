"""What ``bridge check`` leaves behind when it fails."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.bridge.file import parse_bridge_file
from counterfoil.converter.bridge.resolve import resolve
from counterfoil.converter.check import command
from counterfoil.converter.errors import BrokerUnreachable
from counterfoil.schema.model import Schema
from counterfoil.sdk.testing import InMemoryRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

RIDE = Schema(json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}))


class Broker:
    """A broker that is there for the checks of topics, and is away afterwards."""

    def watermarks(self, _topic: str) -> dict[int, tuple[int, int]]:
        return {0: (0, 1)}


def test_a_check_that_fails_stops_spark(monkeypatch: pytest.MonkeyPatch):
    stopped: list[bool] = []

    @contextmanager
    def session(**_settings: Any) -> Iterator[None]:
        try:
            yield
        finally:
            stopped.append(True)

    def fails(*_arguments: Any) -> None:
        raise BrokerUnreachable("broker", reason="away")

    for name, stand_in in {
        "inspect": lambda *_: [], "sample": lambda *_, **__: [], "facts_of": lambda *_: None,
        "start_session": session, "frame_of": fails,
    }.items():  # fmt: skip
        monkeypatch.setattr(command, name, stand_in)
    with InMemoryRegistry().client() as registry:
        for subject in ("in-value", "out-value"):
            registry.register(subject, RIDE)
        bridge = resolve(parse_bridge_file("bridge: b\nsource: {topic: in}\ntarget: {topic: out}\n"), registry)
    cluster: Any = Broker()
    with pytest.raises(BrokerUnreachable):
        command._checked(bridge, cluster, engine="reference", jars=None, master=None, size=1, seed=0)
    assert stopped == [True]
