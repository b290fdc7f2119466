"""Steps of requests to a registry, and the check that the response as of each earlier moment is unchanged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from counterfoil.registry.store.changes import JournalChangeKind
from counterfoil.schema.contexts import parse_subject
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from strategies.registry.driver import Reply

SUBJECTS = ("s", ":.c:s", "t", ":.c:u")
SCHEMAS = ('"int"', '"long"', '"string"', '{"type":"fixed","name":"F","size":2}')
REFERRING = {
    "schema": '{"type":"record","name":"R","fields":[{"name":"f","type":"F"}]}',
    "references": [{"name": "F", "subject": "s", "version": 1}],
}
CONFIGS: tuple[dict[str, Any], ...] = (
    {"compatibility": "NONE"},
    {"alias": "t"},
    {"compatibility": "FULL", "defaultMetadata": {"properties": {"k": "v"}}},
)
GONE = "deleted for good by change"

subjects = st.sampled_from(SUBJECTS)
scopes = st.sampled_from(("", *(f"/{subject}" for subject in SUBJECTS), "/:.c:"))
Step = tuple[str, str, Any]
steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(
        st.just("POST"),
        subjects.map(lambda subject: f"/subjects/{subject}/versions"),
        st.sampled_from([*({"schema": text} for text in SCHEMAS), REFERRING]),
    ),
    st.tuples(
        st.just("POST"),
        subjects.map(lambda subject: f"/subjects/{subject}/versions"),
        st.builds(
            lambda text, number: {"schema": text, "id": 100 + number, "version": number},
            st.sampled_from(SCHEMAS),
            st.integers(1, 3),
        ),
    ),
    st.tuples(
        st.just("DELETE"),
        st.builds(
            lambda subject, version, how: f"/subjects/{subject}{version}{how}",
            subjects,
            st.sampled_from(["", "/versions/1", "/versions/2", "/versions/latest"]),
            st.sampled_from(["", "?permanent=true"]),
        ),
        st.none(),
    ),
    st.tuples(st.just("PUT"), scopes.map(lambda scope: f"/config{scope}"), st.sampled_from(CONFIGS)),
    st.tuples(
        st.just("PUT"),
        st.builds(lambda scope, force: f"/mode{scope}{force}", scopes, st.sampled_from(["", "?force=true"])),
        st.sampled_from([{"mode": "READONLY"}, {"mode": "READWRITE"}, {"mode": "IMPORT"}]),
    ),
    st.tuples(st.just("DELETE"), scopes.map(lambda scope: f"/config{scope}"), st.none()),
    st.tuples(st.just("DELETE"), scopes.map(lambda scope: f"/mode{scope}?recursive=true"), st.none()),
    st.tuples(st.just("DELETE"), st.just("/contexts/.c"), st.none()),
)
QUESTIONS: tuple[str, ...] = (
    *(
        f"/subjects?{flag}&subjectPrefix={prefix}"
        for flag in ("deleted=true", "deletedOnly=true", "")
        for prefix in ("", ":*:", ":.c:u")
    ),
    *(
        f"/subjects/{subject}/versions{rest}"
        for subject in SUBJECTS
        for rest in ("?", "?deletedAsNegative=true", "/latest?", "/1?deleted=true", "/2?", "/1/schema?")
    ),
    *(
        f"/{kind}{scope}?{flag}"
        for kind in ("config", "mode")
        for scope in ("", "/s", "/:.c:s", "/:.c:")
        for flag in ("", "defaultToGlobal=true")
    ),
)


async def carry_out(registry: InProcessRegistry, step: Step) -> Reply:
    method, path, body = step
    sent = None if body is None else json.dumps(body).encode()
    return await registry.ask(method, path, sent, {"Content-Type": "application/json"} if sent else None)


async def answers(registry: InProcessRegistry, suffix: str = "") -> dict[str, Reply]:
    return {question: await registry.get(f"{question}{suffix}") for question in QUESTIONS}


def is_same(then: Reply, now: Reply, changes: list[Any], moment: int) -> bool:
    """Return whether a response is unchanged; the time of a version whose row was deleted is that of the change."""
    if (then.status, then.text) == (now.status, now.text):
        return True
    if isinstance(then.json, list):
        return bool(then.json == now.json)
    if then.status != now.status or not isinstance(now.json, dict) or "ts" not in now.json:
        return False
    subject, version = parse_subject(now.json["subject"]), now.json["version"]
    renewed = any(change.subject == subject and change.version == version for change in changes[moment:])
    return renewed and {**then.json, "ts": 0} == {**now.json, "ts": 0}


async def check_every_moment(story: list[Step], storage: Any, *, every: int = 1) -> None:
    """Carry out the story, and compare the responses as of each moment with those at that moment.

    ``every`` leaves out moments: 3 checks each third one.
    """
    registry = InProcessRegistry(storage)
    told = {0: await answers(registry)}
    for number, step in enumerate(story):
        reply = await carry_out(registry, step)
        assert reply.status < 500, reply.text
        if number % every == 0:
            told[await storage.last_change()] = await answers(registry)
    changes = list(await storage.changes(0, 10_000))
    for moment, replies in told.items():
        asked = await answers(registry, f"&as_of={moment}")
        for question, then in replies.items():
            now = asked[question]
            if GONE in now.text:
                number = int(now.json["message"].partition(GONE)[2].split()[0])
                change = changes[number - 1]
                assert (number > moment, change.kind, now.code) == (True, JournalChangeKind.REMOVED, 40403)
                assert await storage.content(change.guid) is None
            else:
                assert is_same(then, now, changes, moment), (moment, question, then.text, now.text)


STORY: list[Step] = [
    ("PUT", "/config", {"compatibility": "NONE"}),
    ("POST", "/subjects/s/versions", {"schema": SCHEMAS[3]}),
    ("POST", "/subjects/:.c:u/versions", {"schema": SCHEMAS[0]}),
    ("POST", "/subjects/t/versions", REFERRING),
    ("POST", "/subjects/s/versions", {"schema": SCHEMAS[1]}),
    ("PUT", "/config/:.c:s", {"alias": "s"}),
    ("DELETE", "/subjects/s/versions/2", None),
    ("POST", "/subjects/s/versions", {"schema": SCHEMAS[1]}),
    ("DELETE", "/config/:.c:s", None),
    ("DELETE", "/subjects/t", None),
    ("DELETE", "/subjects/t?permanent=true", None),
    ("DELETE", "/subjects/:.c:u", None),
    ("DELETE", "/subjects/:.c:u?permanent=true", None),
    ("DELETE", "/contexts/.c", None),
    ("DELETE", "/subjects/s", None),
    ("DELETE", "/subjects/s?permanent=true", None),
    ("PUT", "/mode", {"mode": "READONLY"}),
]
