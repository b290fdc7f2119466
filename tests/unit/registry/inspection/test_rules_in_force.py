"""The settings in force, and the scopes that give them, against what the config and mode routes answer."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rules import administrator, allow, parse_pattern
from strategies.access.callers import NamedCallers, Rules, access
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping

SCOPES = ("orders", ":.eu:orders", ":.eu:", "", ":.__GLOBAL:")
SUBJECTS = ("orders", ":.eu:orders")
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "compatibility": st.sampled_from(["NONE", "FULL"]),
        "compatibilityPolicy": st.sampled_from(["SOUND", "LENIENT"]),
        "compatibilityGroup": st.sampled_from(["major", "minor"]),
        "normalize": st.booleans(),
        "validateFields": st.booleans(),
        "alias": st.sampled_from(["other"]),
        "defaultMetadata": st.sampled_from([{"properties": {"a": "b"}}]),
        "incompatibleVersions": st.sampled_from(["BRIDGED"]),
    },
)
LEVEL = "compatibilityLevel"
"""The level's name in responses to GET."""


def path_of(kind: str, scope: str) -> str:
    return f"/{kind}/{scope}" if scope else f"/{kind}"


async def filled(configs: Mapping[str, Any], modes: Mapping[str, str]) -> InProcessRegistry:
    registry = InProcessRegistry()
    for subject in SUBJECTS:
        assert (await registry.register(subject, '"int"')).status == 200
    for scope, config in configs.items():
        if config:
            assert (await registry.put(path_of("config", scope), config)).status == 200
    for scope, mode in modes.items():
        assert (await registry.put(path_of("mode", scope), {"mode": mode})).status == 200
    return registry


async def rules_of(registry: InProcessRegistry, subject: str) -> list[dict[str, Any]]:
    reply = await registry.get(f"/inspect/v1/subjects/{subject}")
    assert reply.status == 200, reply.text
    found: list[dict[str, Any]] = reply.json["rules"]
    return found


@given(
    st.fixed_dictionaries(dict.fromkeys(SCOPES, CONFIGS)),
    st.fixed_dictionaries(
        {}, optional={scope: st.sampled_from(["READWRITE", "READONLY_OVERRIDE"]) for scope in SCOPES}
    ),
)
@settings(max_examples=12)
@pytest.mark.slow
def test_what_applies_is_what_the_config_route_answers(configs: dict[str, Any], modes: dict[str, str]) -> None:
    async def story() -> None:
        without_aliases = {
            scope: {key: value for key, value in config.items() if key != "alias" or scope not in SUBJECTS}
            for scope, config in configs.items()
        }
        registry = await filled(without_aliases, modes)
        for subject in SUBJECTS:
            rules = await rules_of(registry, subject)
            applied = {each["key"]: json.loads(each["value"]) for each in rules if each["applies"]}
            expected = (await registry.get(f"/config/{subject}?defaultToGlobal=true")).json
            expected["compatibility"] = expected.pop(LEVEL)
            expected.setdefault("compatibilityPolicy", "STRICT")
            assert applied.pop("mode") == (await registry.get(f"/mode/{subject}?defaultToGlobal=true")).json["mode"]
            assert applied == expected
            for each in rules:
                await check_scope(registry, each)

    asyncio.run(story())


async def check_scope(registry: InProcessRegistry, rule: dict[str, Any]) -> None:
    """Check that a scope has the setting that it gives, stored by the change that is named."""
    if "scope" not in rule:
        assert rule["why"] == "the default of the server"
        return
    kind = "mode" if rule["key"] == "mode" else "config"
    stored = (await registry.get(path_of(kind, rule["scope"]))).json
    if LEVEL in stored:
        stored["compatibility"] = stored.pop(LEVEL)
    assert stored[rule["key"]] == json.loads(rule["value"])
    [change] = (await registry.get(f"/changes?after={rule['seq'] - 1}&limit=1")).json["changes"]
    assert (change["kind"], change["ts"]) == ("settings-changed", rule["ts"])
    assert change["subject"] == rule["scope"]


def test_each_key_says_why_it_applies_or_not() -> None:
    async def story() -> None:
        registry = await filled(
            {"orders": {"compatibility": "FULL"}, "": {"normalize": True, "compatibility": "NONE"}}, {}
        )
        found = {(each["key"], each["applies"]): each for each in await rules_of(registry, "orders")}
        assert found["compatibility", True]["scope"] == "orders"
        assert found["compatibility", False]["why"] == "a narrower scope sets it"
        assert found["normalize", True]["why"] == "from the top level, since it is left open here"
        await registry.put("/config", {"defaultMetadata": {"properties": {"owner": "x"}}})
        found = {(each["key"], each["applies"]): each for each in await rules_of(registry, "orders")}
        assert "settings of its own" in found["defaultMetadata", False]["why"]
        in_eu = {(each["key"], each["applies"]): each for each in await rules_of(registry, ":.eu:orders")}
        assert in_eu["compatibility", True]["why"] == "the default of the server"
        assert "settings of their own" in in_eu["normalize", False]["why"]

    asyncio.run(story())


def test_settings_of_scopes_that_a_caller_may_not_read_have_no_scope() -> None:
    async def story() -> None:
        rules = [
            administrator("User:admin"),
            allow("User:alice", [AccessOperation.READ, AccessOperation.DESCRIBE_CONFIGS], parse_pattern("orders")),
        ]
        registry = InProcessRegistry(access=access(Rules(rules), NamedCallers(["admin", "alice"])))
        await registry.send("POST", "/subjects/orders/versions", "admin", {"schema": '"int"'})
        await registry.send("PUT", "/config", "admin", {"compatibility": "FULL"})
        seen = {}
        for caller in ("admin", "alice"):
            page = (await registry.send("GET", "/inspect/v1/subjects/orders", caller)).json
            assert page["versions"][0]["by"] == "User:admin"
            seen[caller] = {each["key"]: each for each in page["rules"]}
        assert (seen["admin"]["compatibility"]["scope"], seen["admin"]["compatibility"]["by"]) == ("", "User:admin")
        inherited = {"key": "compatibility", "value": '"FULL"', "applies": True, "why": "from a wider scope"}
        assert seen["alice"]["compatibility"] == inherited

    asyncio.run(story())
