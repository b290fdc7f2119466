"""``counterfoil mcp`` over standard input and output, used with the client of the package ``mcp``."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
from counterfoil.sdk import Registry, operations
from local_services import RegistryProcess, free_port
from strategies.contracts.stories import LINK, expectation, promise, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXECUTABLE = Path(sys.executable).with_name("counterfoil")
RIDE = '{"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "%s"}%s]}'
TOOLS = {
    "can_i_deploy",
    "check_change",
    "compare_schemas",
    "decode_message",
    "explain_rule",
    "find_schemas",
    "read_schema",
    "who_reads",
}


def conversation(*calls: tuple[str, dict[str, Any]], url: str = "") -> list[Any]:
    """Start the server, and return the answers: a document, or the text of an error."""

    from mcp import Client, StdioServerParameters  # a second of import, which no other test needs

    async def talk() -> list[Any]:
        given = ["mcp", *(["--registry", url, "--retries", "0"] if url else [])]
        async with Client(StdioServerParameters(command=str(EXECUTABLE), args=given)) as client:
            found = []
            for name, arguments in calls:
                answer = await client.call_tool(name, arguments)
                [content] = answer.content
                found.append(content.text if answer.is_error else json.loads(content.text))
            return found

    return asyncio.run(talk())


@pytest.fixture
def story(live_registry, unique_name) -> tuple[str, str]:
    """The address of a registry, and the name of a contract there, whose topic has a reader."""
    name = unique_name("tools")
    with Registry(live_registry.url) as registry:
        registry.register(f"{name}-value", Schema(schema()))
        registry.call(operations.put_environment(Environment(name)))
        for version, text in (("1", schema()), ("2", schema(total=None))):
            contract = NewContract(promise(f"2.{int(version)}.0", contract=name), {LINK: Schema(text)})
            registry.call(operations.publish(NewPublication(f"{name}-shop", version, (contract,))))
        reads = NewContract(expectation("total", contract=name, name=f"{name}-billing"))
        registry.call(operations.publish(NewPublication(f"{name}-billing", "1", (reads,))))
        for application in ("shop", "billing"):
            registry.call(operations.record_deployment(name, f"{name}-{application}", "1"))
        registry.register(f"{name}-rides-value", Schema(RIDE % ("double", "")))
        registry.register(
            f"{name}-rides-value", Schema(RIDE % ("double", ', {"name": "tip", "type": "long", "default": 0}'))
        )
    return live_registry.url, name


def test_every_tool_is_read_only_and_describes_itself() -> None:
    from mcp import Client, StdioServerParameters

    async def tools() -> Sequence[Any]:
        async with Client(StdioServerParameters(command=str(EXECUTABLE), args=["mcp"])) as client:
            return (await client.list_tools()).tools

    found = asyncio.run(tools())
    assert {each.name for each in found} == TOOLS
    for each in found:
        assert each.annotations.read_only_hint
        assert not each.annotations.destructive_hint
        assert each.description
        for parameter in each.input_schema["properties"].values():
            assert parameter["description"], each.name


def test_what_a_registry_has_is_found_and_compared(story) -> None:
    url, name = story
    rides = f"{name}-rides-value"
    with Registry(url) as registry:
        number = registry.version(rides, 1).id
    message = f"00{number:08x}" + "0000000000002340"
    found, read, compared, readers, verdict, decoded = conversation(
        ("find_schemas", {"text": rides.upper()}),
        ("read_schema", {"subject": rides, "version": 1}),
        ("compare_schemas", {"earlier": f"{rides}@1", "later": f"{rides}@latest"}),
        ("who_reads", {"field": f"{name}-value.total"}),
        ("can_i_deploy", {"application": f"{name}-shop", "version": "2", "environment": name}),
        ("decode_message", {"message": message, "reader": f"{rides}@2"}),
        url=url,
    )
    assert found == {"subjects": [rides], "found": 1}
    assert (read["version"], json.loads(read["schema"])["fields"][0]["type"]) == (1, "double")
    assert [each["text"] for each in compared["changes"]] == ["field added: long = 0"]
    assert [each["application"] for each in readers["consumers"]] == [f"{name}-billing"]
    assert (verdict["exitCode"], verdict["reasons"][0]["reason"]) == (1, "INCOMPATIBLE")
    assert decoded["value"] == {"fare": 9.5}
    assert decoded["reader"]["value"] == {"fare": 9.5, "tip": 0}


def test_a_change_is_checked_with_its_witness_and_nothing_is_registered(story) -> None:
    url, name = story
    rides = f"{name}-rides-value"
    refused, accepted, rule = conversation(
        ("check_change", {"schema": RIDE % ("string", ""), "subject": rides}),
        ("check_change", {"schema": RIDE % ("double", ""), "subject": rides}),
        ("explain_rule", {"rule": "type-mismatch"}),
        url=url,
    )
    [finding] = [each for each in refused["findings"] if each["severity"] == "error"]
    assert (refused["exitCode"], finding["rule"]) == (1, "type-mismatch")
    assert finding["witness"]["datum"]["fare"] == 0.0
    assert accepted["exitCode"] == 0
    assert rule["why"]
    assert rule["fix"]
    with Registry(url) as registry:
        assert registry.versions(rides) == (1, 2)


@pytest.mark.parametrize(
    ("schema_type", "before", "after", "rule"),
    [
        ("AVRO", RIDE % ("long", ""), RIDE % ("int", ""), "type-mismatch"),
        (
            "protobuf",
            'syntax = "proto3"; message M { int64 a = 1; }',
            'syntax = "proto3"; message M { string a = 1; }',
            None,
        ),
        ("json", '{"type": "string"}', '{"type": "integer"}', None),
    ],
)
def test_without_a_registry_two_texts_are_compared(schema_type, before, after, rule) -> None:
    given = {"schema": after, "earlier": before, "schema_type": schema_type}
    broken, same = conversation(("check_change", given), ("check_change", {**given, "schema": before}))
    assert (broken["exitCode"], same["exitCode"]) == (1, 0)
    errors = [each for each in broken["findings"] if each["severity"] == "error"]
    assert rule in {None, *(each["rule"] for each in errors)}
    assert all(each["witness"] for each in errors)


def test_mistakes_are_sentences(story) -> None:
    url, _ = story
    answers = conversation(
        ("check_change", {"schema": "{}"}),
        ("check_change", {"schema": "{}", "earlier": "{}", "schema_type": "XML"}),
        ("compare_schemas", {"earlier": "/etc/passwd", "later": "x@1"}),
        ("compare_schemas", {"earlier": "HEAD:secret.avsc", "later": "x@1"}),
        ("decode_message", {"message": "xyz"}),
        ("decode_message", {"message": "00"}),
        ("explain_rule", {"rule": "type-mismatched"}),
        ("read_schema", {"subject": "no-such-subject"}),
        url=url,
    )
    words = (
        "give either subject",
        "'XML' is no schema type; expected one of AVRO",
        "'/etc/passwd' is not SUBJECT@VERSION",
        "'HEAD:secret.avsc' is not SUBJECT@VERSION",
        "not hexadecimal",
        "",
        "similar names: type-mismatch",
        "not found",
    )
    for answer, expected in zip(answers, words, strict=True):
        assert isinstance(answer, str), answer
        assert expected in answer
        assert "unexpected" not in answer
        assert "Traceback" not in answer


def test_without_a_registry_the_tools_that_need_one_say_so() -> None:
    [answer] = conversation(("find_schemas", {"text": ""}))
    assert "the URL of the registry is missing" in answer
    [away] = conversation(("find_schemas", {}), url=f"http://127.0.0.1:{free_port()}")
    assert "no connection" in away


def test_the_rights_are_those_of_the_caller(counterfoil: Callable[..., Any], tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/access.db"
    password = counterfoil("auth", "init", "--store", store, "--json").report["password"]
    with RegistryProcess(store=store) as served:
        [refused] = conversation(("find_schemas", {}), url=served.url)
        assert isinstance(refused, str)
        assert "401" in refused
        url = served.url.replace("://", f"://admin:{password}@")
        [allowed] = conversation(("find_schemas", {}), url=url)
        assert allowed == {"subjects": [], "found": 0}
