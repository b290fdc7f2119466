"""Contract and product files as values: what is read, the place of every mistake, identity by content, units."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft201909Validator, ValidationError

from counterfoil.schema.agreements.documents import expectation_of
from counterfoil.schema.agreements.files import content_hash, read_agreement, read_if_valid
from counterfoil.schema.agreements.model import Contract, DataProduct, EnumPolicy, OnUnknownEnum, ValueRange
from counterfoil.schema.agreements.standards import ODCS, STANDARDS, remembering_validator
from counterfoil.schema.compatibility.policies import CompatibilityLevel
from counterfoil.schema.documents import node_json, node_of_json, plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.paths import parse_path, print_path
from counterfoil.schema.texts import Position
from counterfoil.schema.units import is_unit
from strategies.contracts.agreement_files import APPLICATION, CONTRACT

NOWHERE = Position(1, 1)


def contract_of(text: str) -> Contract:
    reading = read_agreement(text)
    assert reading.faults == ()
    assert isinstance(reading.agreement, Contract)
    return reading.agreement


def application_of(text: str) -> DataProduct:
    reading = read_agreement(text)
    assert reading.faults == ()
    assert isinstance(reading.agreement, DataProduct)
    return reading.agreement


def test_a_contract_is_read_with_all_its_promises() -> None:
    contract = contract_of(CONTRACT)
    assert (contract.id, contract.version, contract.owner) == ("orders.placed", "2.1.0", "checkout")
    assert contract.servers[0].registry == "http://registry:8081"
    (migration,) = contract.migrations
    assert (migration.source, migration.target, str(migration.sunset)) == ("1", "2", "2027-03-31")
    (promise,) = contract.promises
    assert (promise.topic, promise.subject) == ("orders.placed", "orders.placed-value")
    assert promise.level is CompatibilityLevel.FULL_TRANSITIVE
    assert promise.key is not None
    assert (promise.key.subject, promise.key.field) == ("orders.placed-key", "order_id")
    header = promise.header("trace_id")
    assert header is not None
    assert header.is_required
    assert [(rule.id, rule.engine, rule.metric) for rule in promise.quality] == [
        ("discount_fits", "cel", None),
        ("volume", None, "rowCount"),
    ]
    assert promise.quality[1].limits == {"mustBeBetween": [1000, 200000]}
    assert [print_path(field.path) for field in promise.fields] == [
        "order_id", "total_cents", "status", "email", "items", "items[]", "items[].sku",
    ]  # fmt: skip
    total, status, email = (promise.field(parse_path(name)) for name in ("total_cents", "status", "email"))
    assert total is not None
    assert status is not None
    assert email is not None
    assert (total.range, total.unit, total.is_required) == (
        ValueRange(0, 100000000, is_open_above=True),
        "EUR.cent",
        True,
    )
    assert status.enum_policy is EnumPolicy.OPEN
    assert [each.description for each in status.enum or ()] == ["accepted by checkout", "payment captured"]
    assert (email.is_deprecated, email.classification, email.tags) == (True, "confidential", ("pii", "pii.email"))


def test_an_application_is_read_with_all_its_expectations() -> None:
    application = application_of(APPLICATION)
    assert (application.id, application.version, application.owner) == ("billing", "4.7.1", "finance")
    (port,) = application.expectations
    assert (port.contract_id, port.version, port.consumer_groups) == ("orders.placed", "2", ("billing-main",))
    assert port.on_unknown_enum is OnUnknownEnum.DEFAULT
    assert (port.reprocesses_from, port.is_pinned) == ("P30D", False)
    reads = {print_path(each.path): each for each in port.reads or ()}
    assert list(reads) == ["order_id", "total_cents", "status", "items[].sku", "$header.trace_id"]
    assert (reads["total_cents"].type, reads["total_cents"].range, reads["total_cents"].unit) == (
        "integer", ValueRange(0), "EUR.cent",
    )  # fmt: skip
    assert reads["status"].enum == ("NEW", "PAID")
    assert reads["items[].sku"].when_present
    assert reads["$header.trace_id"].is_required


def test_without_reads_or_with_a_star_the_whole_record_is_read() -> None:
    start = APPLICATION.index("      - property: reads")
    end = APPLICATION.index("      - {property: reprocessesFrom")
    without = APPLICATION[:start] + APPLICATION[end:]
    star = APPLICATION[:start] + '      - {property: reads, value: ["*"]}\n' + APPLICATION[end:]
    assert application_of(without).expectations[0].reads is None
    assert application_of(star).expectations[0].reads is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "kind: DataContract",
            "kind: DataContrct",
            "2:7: kind must be DataContract or DataProduct, not DataContrct",
        ),
        ("v3.2.0", "v9", "1:13: apiVersion must be one of v3.2.0, v3.1.0,"),
        (
            "v3.2.0",
            "''",
            "1:13: apiVersion must be one of v3.2.0, v3.1.0, v3.0.2, v3.0.1, v3.0.0, not a text that is empty",
        ),
        ("v3.2.0", "[v3.2.0]", "1:13: apiVersion must be one of v3.2.0, v3.1.0, v3.0.2, v3.0.1, v3.0.0, not a list"),
        ("id: orders.placed\n", "", "1:1: the file needs id"),
        (
            "version: 2.1.0",
            "version: 2",
            "5:10: version must be a text (in quotes where it looks like a number)",
        ),
        ("    host: kafka:9092\n", "", "10:5: servers[0] needs host"),
        ("metric: rowCount", "metric: rowCont", "35:17: schema[0].quality[1].metric must be one of"),
        ("        mustBeBetween: [1000, 200000]\n", "", "33:9: schema[0].quality[1] needs exactly one of: mustBe;"),
        ("logicalType: array", "logicalType: list", "must be one of string, date,"),
        (
            "{minimum: 0, excl",
            "{minimum: low, excl",
            "43:39: schema[0].properties[1].logicalTypeOptions.minimum",
        ),
    ],
)
def test_a_violation_of_the_standard_has_its_place_and_what_would_be_right(old: str, new: str, message: str) -> None:
    assert old in CONTRACT
    reading = read_agreement(CONTRACT.replace(old, new, 1))
    assert reading.agreement is None
    texts = [f"{fault.position}: {fault.problem}" for fault in reading.faults]
    assert any(message in text for text in texts), texts
    assert len(texts) == 1, texts


@pytest.mark.parametrize("text", ["", "# nothing", "- a", "a: [", "kind: DataContract", "\x00"])
def test_what_is_no_such_file_is_one_mistake(text: str) -> None:
    reading = read_agreement(text)
    assert reading.agreement is None
    assert len(reading.faults) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({name for each in STANDARDS for name in each.file_by_version.values()}))
def test_the_shipped_schemas_are_valid_and_have_their_licence_beside_them(name: str) -> None:
    folder = files("counterfoil.schema.agreements") / "standards"
    schema = json.loads((folder / name).read_text(encoding="utf-8"))
    Draft201909Validator.check_schema(schema)
    assert name in (folder / "NOTICE").read_text(encoding="utf-8")
    assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")
    text = CONTRACT if name.startswith("odcs-3.2") else APPLICATION if name.startswith("odps") else ""
    root = read_yaml(text)
    assert root is None or Draft201909Validator(schema).is_valid(plain_value(root))


PROSE = [
    ("description: accepted by checkout", "description: somebody ordered"),
    ("name: Orders placed", "name: Placed orders"),
    ("status: active", "status: deprecated"),
    ("  name: checkout", "  name: web"),
    ("kafka:9092", "kafka:9093"),
]
SUBSTANCE = [
    ("minimum: 0", "minimum: 1"),
    ("EUR.cent", "EUR"),
    ("required: true, pattern", "required: false, pattern"),
    ("message.total_cents >=", "message.total_cents >"),
    ("value: 5, unit", "value: 6, unit"),
    ("tags: [pii, pii.email]", "tags: [pii]"),
    ("{value: NEW,", "{value: OLD,"),
    ("field: order_id", "field: status"),
    ("url: ./schemas/order.avsc", "url: ./schemas/orders.avsc"),
]


@pytest.mark.parametrize(("old", "new"), PROSE)
def test_prose_does_not_change_the_hash(old: str, new: str) -> None:
    assert old in CONTRACT
    assert content_hash(contract_of(CONTRACT.replace(old, new))) == content_hash(contract_of(CONTRACT))


@pytest.mark.parametrize(("old", "new"), SUBSTANCE)
def test_what_affects_a_verdict_changes_the_hash(old: str, new: str) -> None:
    assert old in CONTRACT
    assert content_hash(contract_of(CONTRACT.replace(old, new))) != content_hash(contract_of(CONTRACT))


def test_the_order_of_reads_and_a_schema_are_no_and_a_part_of_the_hash() -> None:
    first, second = "          - order_id\n", "          - {path: status, enum: [NEW, PAID]}\n"
    turned = APPLICATION.replace(first, "").replace(second, second + first)
    assert content_hash(application_of(turned)) == content_hash(application_of(APPLICATION))
    contract = contract_of(CONTRACT)
    prints = {content_hash(contract, fingerprints={"./schemas/order.avsc": each}) for each in ("a", "b")}
    assert len(prints) == 2


def test_units_are_ucum_codes_and_currencies() -> None:
    known = [
        "ms",
        "kg",
        "m/s",
        "kg.m/s2",
        "10*3/uL",
        "%",
        "Cel",
        "[degF]",
        "By",
        "MiBy",
        "KiBy",
        "EUR",
        "USD.cent",
        "1/s",
    ]
    unknown = ["", "euro", "EURO", "kgs", "meters", "m//s", "m s", "EUR.pence", "{x", "°C", "m^2"]
    assert [unit for unit in known if not is_unit(unit)] == []
    assert [unit for unit in unknown if is_unit(unit)] == []


VERSIONS = ("v3.0.0", "v3.0.1", "v3.0.2", "v3.1.0", "v3.2.0")
PARTS: dict[str, str] = {
    "team: [{username: ana, role: owner}]": "v3.0.0 v3.0.1 v3.0.2 v3.1.0 v3.2.0",
    "team: {name: shop}": "v3.1.0 v3.2.0",
    "description: {usage: u, purpose: p, limitations: l}": " ".join(VERSIONS),
    "authoritativeDefinitions: [{url: 'https://a.example', type: x}]": "v3.0.1 v3.0.2 v3.1.0 v3.2.0",
    "schema: [{name: o, properties: [{name: a, logicalType: timestamp}]}]": "v3.1.0 v3.2.0",
    "schema: [{name: o, properties: [{name: a, logicalType: date, physicalName: b}]}]": "v3.0.2 v3.1.0 v3.2.0",
    "schema: [{name: o, properties: [{name: a, logicalType: date, physicalType: b}]}]": " ".join(VERSIONS),
    "slaProperties: [{property: latency, value: 4, unit: d}]": " ".join(VERSIONS),
    "nothing: 1": "",
}
"""Parts of a contract, and the versions of the standard that have them, by its changelog."""


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_contract_is_judged_by_the_schema_of_its_own_version(version: str, part: str) -> None:
    text = f"kind: DataContract\napiVersion: {version}\nid: o\nversion: 1.0.0\nstatus: active\n{part}\n"
    reading = read_agreement(text)
    published = json.loads(
        (files("counterfoil.schema.agreements") / "standards" / f"odcs-{version[1:]}.schema.json").read_text()
    )
    node = read_yaml(text)
    assert node is not None
    is_valid = Draft201909Validator(published).is_valid(plain_value(node))
    assert (reading.faults == ()) is is_valid is (version in PARTS[part].split())
    if is_valid:
        assert isinstance(reading.agreement, Contract)
        return
    later = [each for each in VERSIONS[VERSIONS.index(version) + 1 :] if each in PARTS[part].split()]
    hint = f"; the file is valid under apiVersion {later[0]}" if later else ""
    assert all(
        each.problem.endswith(hint) and ("is valid under" in each.problem) is bool(hint) for each in reading.faults
    )


@pytest.mark.parametrize("version", ["v3.3.0", "v2.2.2", "v4.0.0", "3.1.0", "3.1", "latest", "''", "[v3.1.0]", "{}"])
def test_a_version_that_is_not_known_is_refused_by_name(version: str) -> None:
    text = f"kind: DataContract\napiVersion: {version}\nid: o\nversion: 1.0.0\nstatus: active\n"
    reading = read_agreement(text)
    assert reading.agreement is None
    [fault] = reading.faults
    assert fault.problem.startswith("apiVersion must be one of v3.2.0, v3.1.0, v3.0.2, v3.0.1, v3.0.0, not")
    assert str(fault.position) == "2:13"


def test_stored_reads_differ_where_their_values_do() -> None:
    for values in ({"min": 1}, {"min": 1.0}, {"min": "1"}, {"required": True}, {"pattern": "1"}, {"pattern": "true"}):
        given = json.dumps({"name": "o", "contractId": "c", "version": "1", "customProperties": [
            {"property": "reads", "value": [{"path": "a", **values}, {"path": "b", "whenPresent": True, **values}]}
        ]})  # fmt: skip
        port = read_yaml(given)
        assert port is not None
        stored = [expectation_of(node_of_json(json.loads(json.dumps(node_json(port))))) for _ in range(2)]
        expected = expectation_of(port).reads
        assert expected is not None
        for each in stored:
            assert [repr(replace(one, position=NOWHERE, places={})) for one in each.reads or ()] == [
                repr(replace(one, position=NOWHERE, places={})) for one in expected
            ]


def nested(depth: int, innermost: dict[str, object]) -> str:
    """Return a contract with a field inside ``depth`` others."""
    fields = [innermost]
    for level in range(depth):
        fields = [{"name": f"o{level}", "logicalType": "object", "properties": fields}]
    head = {"kind": "DataContract", "apiVersion": "v3.1.0", "id": "a", "version": "1.0.0", "status": "active"}
    return json.dumps({**head, "schema": [{"name": "t", "logicalType": "object", "properties": fields}]})


def calls_to_read(text: str) -> int:
    """Return the number of calls of functions that reading a file takes."""
    count = 0

    def counted(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    read_agreement(text)  # the validators are made
    sys.setprofile(counted)
    try:
        read_agreement(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("innermost", [{"nome": "f"}, {"name": "f", "quality": [{"type": "library"}]}])
def test_mistakes_in_nested_fields_are_found_in_time_by_the_depth(innermost: dict[str, object]) -> None:
    assert read_agreement(nested(12, innermost)).faults
    assert calls_to_read(nested(12, innermost)) < 4 * calls_to_read(nested(6, innermost))


@pytest.mark.slow
def test_of_thousands_of_mistakes_the_first_are_listed_in_bounded_time() -> None:
    def servers(count: int) -> str:
        document = json.loads(nested(0, {"name": "f"}))
        document["servers"] = [{"server": f"s{number}", "type": "kafka"} for number in range(count)]
        return json.dumps(document)

    assert [each.problem for each in read_agreement(servers(3)).faults] == [
        f"servers[{number}] needs host" for number in range(3)
    ]
    assert len(read_agreement(servers(900)).faults) == 40
    assert read_agreement(servers(900)).faults[0].problem == "servers[0] needs host"


def test_a_file_is_read_at_once_where_it_is_valid() -> None:
    assert read_if_valid(CONTRACT) == read_agreement(CONTRACT)
    assert read_if_valid(APPLICATION) == read_agreement(APPLICATION)
    for text in ("", "[", "a: 1", nested(3, {"nome": "f"})):
        assert read_if_valid(text) is None
        assert read_agreement(text).faults


def _seen(error: ValidationError) -> tuple[object, ...]:
    return (
        error.message,
        [*error.absolute_path],
        [*error.schema_path],
        error.validator,
        [_seen(each) for each in error.context or ()],
    )


@pytest.mark.slow
@given(st.data())
def test_a_validator_that_remembers_finds_what_one_that_does_not_finds(data: st.DataObject) -> None:
    file = ODCS.file_by_version["v3.1.0"]
    document = json.loads(nested(3, {"name": "f"}))
    document["servers"] = [{"server": "s", "type": "kafka", "host": "h"}]
    for _ in range(data.draw(st.integers(0, 4))):
        place: Any = document
        while isinstance(place, (dict, list)) and place and data.draw(st.booleans()):
            keys = sorted(place) if isinstance(place, dict) else range(len(place))
            key = data.draw(st.sampled_from([*keys]))
            if not isinstance(place[key], (dict, list)):
                break
            place = place[key]
        value = data.draw(st.sampled_from([1, "x", [], {}, None, [{"type": "library"}], [{"zz": 1}]]))
        if isinstance(place, dict):
            place[data.draw(st.sampled_from([*sorted(place), "zz", "quality", "required", "items"]))] = value
        else:
            place.append(value)
    schema = json.loads((files("counterfoil.schema.agreements") / "standards" / file).read_text())
    plain = Draft201909Validator(schema).iter_errors(document)
    assert [*map(_seen, remembering_validator(file).iter_errors(document))] == [*map(_seen, plain)]
