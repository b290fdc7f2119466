"""Random histories of a registry, and all its responses afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hypothesis import strategies as st

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry

SUBJECTS = ["a", "b", "c/d", ":.x:a", ":.x:e", ":.y:f"]
SCOPES = ["", ":.x:", ":.__GLOBAL:", "a", ":.x:a", "nobody"]
ITEM = {"type": "record", "name": "Item", "namespace": "ns", "fields": [{"name": "n", "type": "int"}]}
PLAIN: list[Any] = [
    ITEM,
    {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]},
    {"type": "enum", "name": "E", "symbols": ["A", "B"]},
    "string",
]
REFERRING = {"type": "record", "name": "Cart", "fields": [{"name": "first", "type": "ns.Item"}]}
METADATA = [None, {"properties": {"owner": "me"}}, {"tags": {"x": ["PII"]}, "sensitive": ["owner"]}, {}]
RULES = [None, {"domainRules": [{"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}]}]
CONFIGS = [{"compatibility": "NONE"}, {"normalize": True}, {"compatibility": None}, {"alias": "b"}, {}]


def _body(schema: Any, metadata: Any, rules: Any, extra: dict[str, Any]) -> dict[str, Any]:
    given = {"schema": json.dumps(schema), "metadata": metadata, "ruleSet": rules, **extra}
    return {name: value for name, value in given.items() if value is not None}


_SUBJECT = st.sampled_from(SUBJECTS)
_VERSION = st.integers(1, 3)
_PLAIN = st.builds(_body, st.sampled_from(PLAIN), st.sampled_from(METADATA), st.sampled_from(RULES), st.just({}))
_REFERENCE = st.builds(
    lambda subject, version: {"references": [{"name": "ns.Item", "subject": subject, "version": version}]},
    _SUBJECT,
    _VERSION,
)
_REFERRING = st.builds(_body, st.just(REFERRING), st.just(None), st.just(None), _REFERENCE)
_NUMBERED = st.builds(
    lambda body, schema_id, version: {**body, "id": schema_id, "version": version},
    st.one_of(_PLAIN, _REFERRING),
    st.integers(1, 12),
    st.integers(1, 6),
)
STEPS = st.one_of(
    st.tuples(st.just("register"), _SUBJECT, st.one_of(_PLAIN, _PLAIN, _REFERRING)),
    st.tuples(st.just("import"), _SUBJECT, _NUMBERED),
    st.tuples(st.just("soft"), _SUBJECT, _VERSION),
    st.tuples(st.just("hard"), _SUBJECT, _VERSION),
    st.tuples(st.just("soft-subject"), _SUBJECT, st.none()),
    st.tuples(st.just("hard-subject"), _SUBJECT, st.none()),
    st.tuples(st.just("config"), st.sampled_from(SCOPES), st.sampled_from(CONFIGS)),
    st.tuples(st.just("mode"), st.sampled_from(SCOPES), st.sampled_from(["READWRITE", "READONLY", None])),
    st.tuples(st.just("context"), st.sampled_from([".x", ".y"]), st.none()),
)
HISTORIES = st.lists(STEPS, max_size=25)


async def take_step(registry: InProcessRegistry, step: tuple[str, str, Any]) -> None:
    """Request one step; the registry may refuse it."""
    kind, name, what = step
    path = f"/subjects/{quote(name, safe='')}"
    scope = f"/{quote(name, safe='')}" if name else ""
    match kind:
        case "register":
            await registry.post(f"{path}/versions", what)
        case "import":
            context = quote(f":{name[1:].partition(':')[0]}:", safe="") if name.startswith(":") else ""
            await registry.put(f"/mode/{context}?force=true", {"mode": "IMPORT"})
            await registry.post(f"{path}/versions", what)
            await registry.put(f"/mode/{context}?force=true", {"mode": None})
        case "soft":
            await registry.delete(f"{path}/versions/{what}")
        case "hard":
            await registry.delete(f"{path}/versions/{what}?permanent=true")
        case "soft-subject":
            await registry.delete(path)
        case "hard-subject":
            await registry.delete(f"{path}?permanent=true")
        case "config":
            await registry.put(f"/config{scope}", what)
        case "mode":
            await registry.put(f"/mode{scope}", {"mode": what})
        case "context":
            await registry.delete(f"/contexts/{name}")


async def live(registry: InProcessRegistry, history: list[tuple[str, str, Any]]) -> None:
    """Request all steps of a history."""
    for step in history:
        await take_step(registry, step)


async def all_answers(registry: InProcessRegistry, *, with_times: bool = True) -> dict[str, Any]:
    """Return the registry's responses to all requests about its content, by path."""
    paths = ["/contexts", "/subjects?deleted=true", "/subjects", "/schemas?deleted=true&subjectPrefix=:*:"]
    for scope in SCOPES + SUBJECTS:
        suffix = f"/{quote(scope, safe='')}" if scope else ""
        paths += [f"/config{suffix}", f"/mode{suffix}", f"/config{suffix}?defaultToGlobal=true"]
    for subject in SUBJECTS:
        path = f"/subjects/{quote(subject, safe='')}/versions"
        paths += [f"{path}?deleted=true", path]
        for version in range(1, 7):
            paths += [f"{path}/{version}?deleted=true", f"{path}/{version}/referencedby?deleted=true"]
    for context in ("", ":.x:", ":.y:"):
        query = f"?fetchMaxId=true&subject={context}"
        paths += [f"/schemas/ids/{schema_id}{query}" for schema_id in range(1, 30)]
        paths += [f"/schemas/ids/{schema_id}/versions{query}&deleted=true" for schema_id in range(1, 13)]
    found = {path: (await registry.get(path)).outcome for path in paths}
    return found if with_times else {path: _without_times(value) for path, value in found.items()}


def _without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_times(item) for item in value]
    return {key: item for key, item in value.items() if key != "ts"} if isinstance(value, dict) else value
