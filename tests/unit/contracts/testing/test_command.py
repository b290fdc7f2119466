"""``counterfoil test`` as a command: exit codes, reports, files, and messages that cannot be read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.contracts.reports.json_schema import report_json_schema
from counterfoil.contracts.testing.plan import Tally
from counterfoil.contracts.testing.sources import repeated_key
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.serde.avro.numbers import encode_long
from strategies.contracts.tested_records import (
    AVRO,
    CONTRACT,
    FINE,
    ORDER,
    batch_of,
    counted,
    findings,
    message,
    quality,
)

# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a contract, its writer's schema and a few messages."""
    monkeypatch.chdir(tmp_path)
    for name in ("COUNTERFOIL_BOOTSTRAP_SERVERS", "COUNTERFOIL_REGISTRY_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "orders.odcs.yaml").write_text(CONTRACT)
    (tmp_path / "ids").mkdir()
    (tmp_path / "ids" / "1.avsc").write_text(json.dumps(AVRO))
    good = message(FINE, ORDER)
    bad = message(FINE | {"total": 500}, ORDER)
    (tmp_path / "good.hex").write_text(f"{good.hex()}\n{good.hex()}\n")
    (tmp_path / "bad.hex").write_text(f"{good.hex()}\n{bad.hex()}\n")
    (tmp_path / "one.bin").write_bytes(good)
    (tmp_path / "empty.jsonl").write_text("")
    return tmp_path


@pytest.fixture
def call(capsys):
    """A function that runs ``counterfoil test``, and returns its exit code and what it printed."""

    def run_command(*arguments):
        code = run(root_command(), ["test", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--from-file", "good.hex"), 0, "0 errors, 0 warnings; 2 records of 1 topic tested (exit 0)"),
        (("--from-file", "one.bin"), 0, "1 record of 1 topic tested"),
        (("--from-file", "bad.hex"), 1, "value-outside-range"),
        (("--from-file", "bad.hex", "--fail-on", "never"), 0, "value-outside-range"),
        (("--from-file", "empty.jsonl"), 4, "0 records of 1 topic tested (exit 4)"),
        (("--from-file", "empty.jsonl", "--allow-empty"), 0, "0 records"),
        (("ids",), 4, "0 records of 0 topics"),
        ((), 2, "test needs --bootstrap-servers"),
        (("--sample", "newst"), 2, "did you mean newest?"),
        (("--from-file", "good.hex", "--window", "hourly"), 2, "--window 'hourly' is no duration such as PT1H"),
        (("--from-file", "good.hex", "--window", "PT0S"), 2, "is no duration such as PT1H or P1D"),
        (("--from-file", "good.hex", "--window", "PT1H"), 0, "2 records of 1 topic tested"),
        (("--sample", "since=once"), 2, "names no moment"),
        (("--topic", "order", "--from-file", "good.hex"), 2, "did you mean orders?"),
        (("--server", "production"), 2, "has no such server"),
        (("--from-file", "good.hex", "--engine", "spark"), 2, "--from-file names a file"),
        (("--from-file", "orders.odcs.yaml"), 14, "orders.odcs.yaml:2:1 is no valid record"),
        (("nowhere",), 14, "there is no file or folder 'nowhere'"),
        (("--from-file", "good.hex", "--proposed", "nothing.avsc"), 14, "there is no file 'nothing.avsc'"),
    ],
)
def test_exit_codes(folder, call, arguments, code, said):
    found, out, err = call(*arguments, "--schemas", str(folder / "ids"))
    assert found == code, out + err
    assert said in out + err


def test_a_folder_without_schemas_and_a_contract_that_is_not_valid(folder, call):
    code, _, err = call("--from-file", "good.hex", "--schemas", "absent")
    assert (code, "there is no folder 'absent'" in err) == (14, True)
    (folder / "ids" / "1.avsc").unlink()
    code, _, err = call("--from-file", "good.hex", "--schemas", "ids")
    assert (code, "named by their ids" in err) == (14, True)
    (folder / "orders.odcs.yaml").write_text(CONTRACT.replace("status: active\n", "status: 7\n"))
    code, _, err = call("--from-file", "good.hex")
    assert (code, "orders.odcs.yaml:6:9 is no valid contract or product file" in err) == (14, True)
    (folder / "orders.odcs.yaml").write_text(quality('{id: r, type: custom, engine: cel, implementation: "message.("}'))
    code, _, err = call("--from-file", "good.hex")
    assert (code, "orders.odcs.yaml:12:" in err and "is not valid CEL" in err) == (14, True), err


def test_every_format_of_the_report(folder, call):
    forms = ("json", "junit", "sarif", "github", "gitlab", "markdown", "html")
    wanted = [argument for form in forms for argument in ("--format", f"{form}=report.{form}")]
    assert call("--from-file", "bad.hex", "--schemas", "ids", *wanted)[0] == 1
    for form in forms:
        assert "value-outside-range" in (folder / f"report.{form}").read_text()
    document = json.loads((folder / "report.json").read_text())
    Draft202012Validator(report_json_schema()).validate(document)
    (verification,) = document["verifications"]
    assert verification["contract"] == {"id": "orders", "version": "1.0.0"}
    assert verification["schemaIds"] == [1]
    assert verification["sample"]["records"] == 2
    (failure,) = verification["results"]["failures"]
    assert (failure["rule"], failure["element"], failure["records"]) == ("value-outside-range", "total", 1)
    assert failure["first"] == [{"partition": 0, "offset": 1, "writer": "id 1", "reason": ""}]


def test_findings_are_accepted_and_ignored_by_the_project_file(folder, call):
    (folder / "counterfoil.yaml").write_text("ignore: [{rule: value-outside-range, reason: known}]\n")
    code, out, _ = call("--from-file", "bad.hex", "--schemas", "ids")
    assert (code, "value-outside-range" in out) == (0, False)


def test_an_object_container_file_has_its_own_schema(folder, call):
    import fastavro

    with (folder / "orders.avro").open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(AVRO), [FINE, FINE | {"total": 500}], codec="deflate")
    code, out, _ = call("--from-file", "orders.avro")
    assert (code, "1 of 2 records: total is not >= 0 and < 100" in out) == (1, True)
    damaged = (folder / "orders.avro").read_bytes()
    (folder / "orders.avro").write_bytes(damaged[:-30])
    code, _, err = call("--from-file", "orders.avro")
    assert (code, "is no valid object container file: the block at byte" in err) == (14, True)


@pytest.mark.parametrize("text", [b"", b"{", b'"nothing"', b'{"type": "record"}'])
def test_an_object_container_file_whose_schema_is_not_valid(folder, call, text):
    metadata = b"".join(encode_long(len(each)) + each for each in (b"avro.schema", text))
    (folder / "orders.avro").write_bytes(b"Obj\x01" + encode_long(1) + metadata + encode_long(0) + bytes(16))
    code, _, err = call("--from-file", "orders.avro")
    assert (code, "is no valid object container file: its schema cannot be read" in err) == (14, True)


FRAMED = {
    SchemaType.AVRO: (Schema('{"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}]}'), b"\4ab"),
    SchemaType.PROTOBUF: (
        Schema('syntax = "proto3"; message R { string id = 1; } message Other { int32 n = 1; }', SchemaType.PROTOBUF),
        b"\x0a\2ab",
    ),
    SchemaType.JSON: (
        Schema('{"type": "object", "properties": {"id": {"type": "string"}}}', SchemaType.JSON),
        b'{"id": "ab"}',
    ),
}
SIMPLE = CONTRACT.partition("    properties:\n")[0] + "    properties: [{name: id, logicalType: string}]\n"
BAD_FRAMES = {
    "no bytes": b"",
    "wrong magic byte": b"\7\0\0\0\1",
    "frame cut off": b"\0\0\0",
    "unknown id": b"\0\0\0\x09\x09",
    "id of no registry": b"\0\xff\xff\xff\xff",
    "unknown guid": b"\1" + bytes(range(16)),
    "guid cut off": b"\1\1\2",
}
BAD_INDEXES = {
    "unknown message": b"\2\x0a",
    "unknown message inside": b"\4\0\x0a",
    "negative message": b"\2\1",
    "index that does not end": b"\2\x80",
    "more indexes than bytes": b"\xfe\xff\xff\xff\x0f",
    "index of eleven bytes": b"\x80" * 11,
    "no index": b"",
}


@pytest.mark.parametrize("language", SchemaType)
@pytest.mark.parametrize("bad_first", [False, True])
def test_a_frame_that_cannot_be_read_is_one_undecodable_record(language, bad_first):
    schema, value = FRAMED[language]
    good = id_prefix(1) + (b"\0" if language is SchemaType.PROTOBUF else b"") + value
    bad = {name: data + (value if len(data) in {5, 17} else b"") for name, data in BAD_FRAMES.items()}
    if language is SchemaType.PROTOBUF:
        bad |= {name: id_prefix(1) + data for name, data in BAD_INDEXES.items()}
    messages = [each for data in bad.values() for each in ((data, good) if bad_first else (good, data))]
    places = {at for at, data in enumerate(messages) if data != good}
    _, tally = counted(batch_of(messages), contract=SIMPLE, schemas=(schema,))
    assert sum(each.undecodable for each in tally.writers.values()) == len(bad)
    assert sum(each.fine for each in tally.writers.values()) == len(messages) - len(bad)
    assert (tally.records, tally.failing, tally.failures[0].count) == (len(messages), len(bad), len(bad))
    assert {place.offset for place in tally.failures[0].places} <= places
    for data in bad.values():  # each by itself, with its offset
        _, one = counted(batch_of([good, data, good]), contract=SIMPLE, schemas=(schema,))
        assert [place.offset for place in one.failures[0].places] == [1], data


@pytest.mark.parametrize("language", SchemaType)
def test_a_header_or_a_key_that_cannot_be_read_does_not_end_the_test(language):
    schema, value = FRAMED[language]
    guid = content_guid(schema.text, (), None, None).bytes
    suffix = b"\0" if language is SchemaType.PROTOBUF else b""
    named = [b"\1" + guid + suffix, b"\1" + guid[:5], b"\1" + bytes(16) + suffix, b"\7", b""]
    if language is SchemaType.PROTOBUF:
        named += [b"\1" + guid + each for each in BAD_INDEXES.values()]
    headers = [[("__value_schema_id", each)] for each in named]
    keys = [b"\0\0\0\x09\x09k", b"\0\0", b"\7", id_prefix(1) + b"\2\x80", id_prefix(1)]
    keys += [b"\xff"] * (len(named) - len(keys))
    contract = SIMPLE.replace(
        "    properties:", "    customProperties: [{property: messageKey, value: {field: id}}]\n    properties:"
    )
    _, tally = counted(batch_of([value] * len(named), headers=headers, keys=keys), contract=contract, schemas=(schema,))
    assert sum(each.undecodable for each in tally.writers.values()) == len(named) - 1
    assert 0 not in {place.offset for place in tally.failures[0].places}


REPEATED = {
    '{"id": "a", "id": "b"}': True,
    '{"id": "a", "\\u0069d": "b"}': True,
    '{"x": {"y": [{"z": 1, "z": 1}]}}': True,
    '{":": 1, "a": 2, ":": 3}': True,
    '{"": 1, "": 2}': True,
    '{"a": [{"b": 1}, {"b": 2}], "c": {"a": 1}}': False,
    '{"a": "\\"a\\": 1, \\"a\\": 2", "b": ": \\"a\\""}': False,
    '{"a": "a", "b": "a", "\\u0063": "c"}': False,
    "[]": False,
    "7": False,
}


@pytest.mark.parametrize("text", REPEATED)
def test_keys_that_a_json_object_has_twice_are_counted(text):
    schema = Schema("true", SchemaType.JSON)
    data = id_prefix(1) + text.encode()
    fine = id_prefix(1) + b'{"a": 1}'
    found = findings(batch_of([fine, data, None, fine]), contract=SIMPLE, schemas=(schema,))
    _, tally = counted(batch_of([fine, data, None, fine]), contract=SIMPLE, schemas=(schema,))
    assert tally.repeated_keys.count == REPEATED[text]
    assert [each.offset for each in tally.repeated_keys.places] == ([1] if REPEATED[text] else [])
    assert (("record-key-repeated", "") in found) == REPEATED[text]
    assert Tally.read(json.loads(json.dumps(tally.document()))) == tally
    assert tally.failing == 0


@pytest.mark.slow
@given(st.recursive(st.none() | st.text(max_size=3), lambda inner: st.lists(st.tuples(st.text(max_size=2), inner))))
def test_a_key_is_twice_where_an_object_is_written_with_it_twice(value):
    """Objects are lists of pairs here; the judge looks at these, not at the text."""

    def written(each):
        if isinstance(each, list):
            return "{" + ", ".join(f"{json.dumps(key)}: {written(one)}" for key, one in each) + "}"
        return json.dumps(each, ensure_ascii=False)

    def is_twice(each):
        names = [key for key, _ in each] if isinstance(each, list) else []
        return len(names) != len(set(names)) or any(is_twice(one) for _, one in (each if names else []))

    assert (repeated_key(written(value).encode("utf-8", "surrogatepass")) is not None) == is_twice(value)
