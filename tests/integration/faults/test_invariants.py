"""The check of the invariants itself: it is content with a true story, and finds each kind of lie."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from strategies.registry.invariants import (
    Client,
    Deletion,
    Outcome,
    Registration,
    Setting,
    Story,
    outcome_of,
    violations,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import RegistryProcess


def fixed(size: int, name: str = "F") -> str:
    return json.dumps({"type": "fixed", "name": name, "size": size})


@pytest.fixture
def told(live_registry: RegistryProcess, unique_name: Callable[[str], str]) -> tuple[str, Story, str, str]:
    """A registry, the true story of what was done to it, and the names of a subject with and without deletions."""
    story = Story()
    client = Client(live_registry.url, story)
    kept, deleted = unique_name("kept"), unique_name(":.storm:deleted")
    for subject in (kept, deleted):
        client.set(subject, "NONE")
        for size in (1, 2, 3):
            client.register(subject, fixed(size, kept.replace("-", "_")))
    named = json.dumps({"type": "record", "name": "U", "fields": [{"name": "f", "type": kept.replace("-", "_")}]})
    client.register(kept, named, references=((kept.replace("-", "_"), kept, 1),))
    client.register(kept, '{"type": "no such"}')
    client.delete(deleted, version=1)
    client.delete(deleted, version=2)
    client.delete(deleted, version=2, permanent=True)
    client.set(kept, "READONLY", kind="mode")
    client.set(kept, None, kind="mode")
    client.close()
    return live_registry.url, story, kept, deleted


def test_a_true_story_is_believed(told: tuple[str, Story, str, str]) -> None:
    url, story, *_ = told
    assert story.count(Outcome.FAILED) == 1
    assert violations(url, story) == []
    assert story.operations[-1].subject.startswith("Probe_")
    assert violations(url, story, probe=False) == []


def test_each_lie_is_found(told: tuple[str, Story, str, str]) -> None:
    url, story, kept, deleted = told
    first, second, third = (each for each in story.operations if isinstance(each, Registration) and
                            each.subject == kept and each.version in {1, 2, 3})  # fmt: skip
    gone = next(each for each in story.operations if isinstance(each, Deletion))
    late = {"begun": gone.ended + 1, "ended": gone.ended + 2}
    lies = {
        "was acknowledged and is not there": replace(first, version=9),
        "have stood for|has stood for": replace(first, schema_id=second.schema_id),
        "was answered for 2 contents": replace(first, version=third.version),
        "and is not there": replace(first, schema=fixed(99), version=None, schema_id=10_000),
        "was deleted and is active": replace(gone, subject=kept, versions=(1,), **late),
        "was deleted for good and is there": replace(gone, subject=kept, versions=(2,), permanent=True, **late),
        "expected one of": Setting(subject=kept, outcome=Outcome.ACKNOWLEDGED, kind="config", value="FULL", **late),
    }
    for said, lie in lies.items():
        found = violations(url, Story([*story.operations, lie]), probe=False)
        assert any(part in sentence for sentence in found for part in said.split("|")), (said, found)
    denied = [
        replace(each, outcome=Outcome.FAILED, schema_id=None, version=None)
        if isinstance(each, Registration) and each.subject == deleted
        else each
        for each in story.operations
    ]
    assert "everybody who sent it was told that it failed" in violations(url, Story(denied), probe=False)[0]
    forgotten = [each for each in story.operations if not isinstance(each, Deletion)]
    assert "nothing of it was deleted" in violations(url, Story(forgotten), probe=False)[0]


def test_no_answer_is_not_a_failure() -> None:
    assert outcome_of(None) is Outcome.UNKNOWN
