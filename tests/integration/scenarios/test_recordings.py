"""Recorded answers of the reference registry, asked of ours again: every step must be equal.

Every sequence runs on an empty registry of its own. What only reads is asked a second time without the fast lane.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.sqlite.storage import SqliteStorage
from strategies.cases.each_case import check_each
from strategies.registry.driver import InProcessRegistry
from strategies.registry.recordings import Step, fill, is_reading, request_of, sequences

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from counterfoil.registry.store.protocol import Storage

PARTS = 4
"""How many tests share the sequences, so that several processes can run them."""

ON_POSTGRES = 1 if os.environ.get("COUNTERFOIL_EXAMPLES") else 3
"""All sequences are replayed on SQLite, and one of so many on PostgreSQL, where each takes three times as long."""

# --- comparing --------------------------------------------------------------------------------------------------------


def facts_of_messages(texts: list[str]) -> list[str]:
    """Compatibility messages as facts: rule and path, version, level."""
    found: list[str] = []
    for text in texts:
        kinds = re.findall(r"""errorType\s*:\s*["']([A-Z_0-9]+)["'](?:.*?\bpath ['"]([^'"]*)['"])?""", text, re.DOTALL)
        if kinds:
            found += [f"{kind} {path}".strip() for kind, path in kinds]
        elif version := re.search(r"oldSchemaVersion:\s*(\d+)", text):
            found.append(f"oldSchemaVersion {version[1]}")
        elif "oldSchema:" in text:
            found.append("oldSchema")
        elif level := re.search(r"compatibility:\s*'?([A-Z_]+)", text):
            found.append(f"compatibility {level[1]}")
        else:
            found.append("text")
    return found


def without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [without_times(each) for each in value]
    if isinstance(value, dict):
        return {
            key: "<ts>" if key == "ts" and isinstance(each, int) else without_times(each) for key, each in value.items()
        }
    return value


def comparable(step: Step, value: Any) -> Any:
    """A reply's value with only what the step compares."""
    if isinstance(value, list):
        if step.get("only"):
            value = [each for each in value if step["only"] in json.dumps(each, ensure_ascii=False)]
        return sorted(value, key=lambda each: json.dumps(each, sort_keys=True)) if step.get("unordered") else value
    if isinstance(value, dict):
        masked = {name: "<any>" for name in step.get("mask", ()) if name in value}
        messages = {"messages": facts_of_messages(value["messages"])} if "messages" in value else {}
        return {**value, **messages, **masked}
    return value


def facts(step: Step, status: int, media_type: str, text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"status": status, "type": media_type}
    if step["m"] == "HEAD":
        return found
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict) and "error_code" in value:
        found["code"] = value["error_code"]
        if value["error_code"] == 40901:
            listed = value["message"]
            found["differences"] = facts_of_messages(re.split(r", (?=\{)", listed[listed.find("[{") + 1 :]))
        return found
    if step.get("raw_reply") and status == 200:
        return {**found, "text": text}
    if value is None and not text:
        return found
    return {**found, "json": comparable(step, without_times(value))}


def differences(step: Step, found: dict[str, Any]) -> list[str]:
    wanted = step["reply"]
    compared = [key for key in ("status", "code", "type", "json", "text") if key != "type" or "type" in wanted]
    if wanted.get("differences"):
        compared.append("differences")
    return [
        f"{key}: recorded {wanted.get(key)!r}, ours {found.get(key)!r}"
        for key in compared
        if wanted.get(key) != found.get(key)
    ]


async def replay(sequence: dict[str, Any], storage: Storage) -> list[str]:
    """The differences of the first step that was not equal.

    In a file each reading is asked twice, with the fast lane and without; in PostgreSQL, where it takes longer, each
    is asked of the one or the other in turn.
    """
    registry = InProcessRegistry(storage)
    routed = InProcessRegistry(storage, fast_lane=False)
    is_quick = isinstance(storage, SqliteStorage)
    await fill(registry, sequence.get("idBase", 1))
    for index, step in enumerate(sequence["steps"]):
        path, body, headers = request_of(step)
        reply = await (registry if is_quick or index % 2 else routed).ask(step["m"], path, body, headers)
        if is_quick and is_reading(step):
            for other in (routed, registry):
                again = await other.ask(step["m"], path, body, headers)
                assert (again.status, again.text) == (reply.status, reply.text)
        if "skip" in step:
            continue
        wrong = differences(step, facts(step, reply.status, reply.media_type, reply.text))
        if wrong:
            shown = json.dumps(step.get("body"), ensure_ascii=False) if "body" in step else step.get("raw", "")
            return [f"{sequence['name']} step {index}: {step['m']} {step['path']} {shown[:600]}", *wrong]
    return []


@pytest.fixture
def new_storage(store: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Storage]:
    """A function that returns an empty storage."""
    if store == "postgres":
        emptied: Callable[[], Storage] = request.getfixturevalue("emptied_postgres")
        return emptied
    numbers = count()
    return lambda: SqliteStorage(tmp_path / f"{next(numbers)}.db")


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_answers_like_the_reference(store: str, part: int, new_storage: Callable[[], Storage]) -> None:
    async def answers(sequence: dict[str, Any]) -> list[str]:
        storage = new_storage()
        try:
            return await replay(sequence, storage)
        finally:
            await storage.close()

    def check(sequence: dict[str, Any]) -> None:
        wrong = asyncio.run(answers(sequence))
        assert not wrong, "\n".join(wrong)

    chosen = sequences()[:: 1 if store == "sqlite" else ON_POSTGRES]
    check_each(((f"{each['name']}-{each['theme']}", each) for each in chosen[part::PARTS]), check)
