"""``counterfoil check`` and ``diff`` over JSON Schema files, through the installed command."""

from __future__ import annotations

import pytest

ADDRESS = {"type": "object", "properties": {"zip": {"type": "string"}}, "additionalProperties": False}


def customer(*required, home="parts/address.json", **properties):
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Customer",
        "type": "object",
        "properties": {"id": {"type": "string"}, "home": {"$ref": home}, **properties},
        "required": list(required),
        "additionalProperties": False,
    }


@pytest.fixture
def shop(workshop):
    """A repository with a customer that refers to plain JSON beside it."""
    workshop.write("customer.schema.json", customer("id", email={"type": "string"}))
    workshop.write("parts/address.json", ADDRESS)
    workshop.write("package.json", {"name": "no schema"})
    workshop.commit()
    return workshop


def test_a_property_made_required_names_rule_place_witness_and_cure(counterfoil, shop):
    shop.write("customer.schema.json", customer("id", "email", email={"type": "string"}))
    result = counterfoil("check", "--format", "json", "--format", "text=out.txt", folder=shop.folder)
    assert (result.code, result.rules) == (1, ["required-attribute-added"]), result
    (finding,) = result.report["findings"]
    line = (shop.folder / "customer.schema.json").read_text().splitlines()[finding["line"] - 1]
    assert line[finding["column"] - 1 :].startswith('"email"')  # its name in the list of required properties
    assert (finding["subject"], finding["element"], finding["direction"]) == ("Customer", "email", "BACKWARD")
    assert finding["text"] == "this schema requires property email, the earlier one does not"
    assert finding["witness"]["datum"].keys() == {"id"}
    assert "jsonschema" in finding["witness"]["confirmedBy"]
    assert finding["advice"]
    assert "         witness: {" in (shop.folder / "out.txt").read_text()
    assert [one["path"] for one in result.report["files"]] == ["customer.schema.json"]  # package.json is none


def test_a_change_in_plain_json_that_is_referred_to_is_found(counterfoil, shop):
    shop.write("parts/address.json", {**ADDRESS, "properties": {"zip": {"type": "integer"}}})
    result = counterfoil("check", "--format", "json", folder=shop.folder)
    assert (result.code, result.rules) == (1, ["type-changed"]), result
    assert result.report["findings"][0]["element"] == "home.zip"


def test_a_new_optional_property_of_a_closed_schema_is_compatible(counterfoil, shop):
    properties = {"email": {"type": "string"}, "age": {"type": "integer"}}
    shop.write("customer.schema.json", customer("id", **properties))
    assert counterfoil("check", folder=shop.folder).code == 0
    forward = counterfoil("check", "--level", "FORWARD", "--format", "json", folder=shop.folder)
    assert (forward.code, forward.rules) == (1, ["property-removed-from-closed-content-model"]), forward
    (finding,) = forward.report["findings"]
    assert (finding["direction"], finding["element"]) == ("FORWARD", "age")
    assert finding["witness"]["reader"].startswith("main@")


def test_lenient_lets_open_schemas_grow(counterfoil, workshop):
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    workshop.write("open.schema.json", schema)
    workshop.commit()
    properties = {**schema["properties"], "note": {"type": "string"}}
    workshop.write("open.schema.json", {**schema, "properties": properties})
    strict = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert (strict.code, strict.rules) == (1, ["optional-property-added-to-open-content-model"])
    assert counterfoil("check", "--policy", "LENIENT", folder=workshop.folder).code == 0


@pytest.mark.parametrize(
    ("text", "said", "line", "column"),
    [
        ('{"type":\n }', "expected", 2, 2),
        ('{"properties":\n {"a": {"$ref": "nowhere.json#/x"}}}', "'nowhere.json'", 2, 17),
        ('{\n "$ref": "loop.schema.json"}', "bad.schema.json → loop.schema.json → bad.schema.json", 2, 10),
        ('{\n "type": 5}', "type", 2, 10),
    ],
)
def test_a_file_that_is_no_schema_is_located(counterfoil, shop, text, said, line, column):  # noqa: PLR0917 (four are the case)
    shop.write("bad.schema.json", text)
    shop.write("loop.schema.json", '{"$ref": "bad.schema.json"}')
    result = counterfoil("check", "bad.schema.json", "--format", "json", folder=shop.folder)
    assert (result.code, result.rules) == (1, ["schema-invalid"]), result
    (finding,) = result.report["findings"]
    assert said in finding["text"]
    assert (finding["line"], finding["column"]) == (line, column), finding


def test_plain_json_is_a_schema_where_it_is_named(counterfoil, shop):
    shop.write("parts/address.json", {**ADDRESS, "required": ["zip"]})
    result = counterfoil("check", "parts/address.json", "--format", "json", folder=shop.folder)
    assert (result.code, result.rules) == (1, ["required-attribute-added"]), result


def test_a_moved_file_is_known_by_its_id(counterfoil, workshop):
    schema = {"$id": "https://shop.example/item", "type": "string", "maxLength": 9}
    workshop.write("v1/item.jsonschema", schema)
    workshop.write("v1/other.jsonschema", {"$id": "https://shop.example/other", "type": "string"})
    workshop.commit()
    workshop.git("mv", "v1", "v2")
    workshop.write("v2/thing.jsonschema", {**schema, "maxLength": 5})
    (workshop.folder / "v2/item.jsonschema").unlink()
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert (result.code, result.rules) == (1, ["max-length-decreased"]), result
    assert result.report["findings"][0]["path"] == "v2/thing.jsonschema"


def test_another_language_at_the_same_name_is_another_schema(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    (workshop.folder / "order.avsc").unlink()
    workshop.write("order.schema.json", {"title": "shop.Order", "type": "object"})
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert sorted(result.rules) == ["schema-new", "schema-removed"], result


def test_diff(counterfoil, shop):
    shop.write("customer.schema.json", customer("id", "email", email={"type": "string", "maxLength": 9}))
    result = counterfoil("diff", "HEAD:customer.schema.json", "customer.schema.json", folder=shop.folder)
    assert result.code == 0, result
    assert "email" in result.out
    assert "(customer.schema.json:" in result.out


def test_two_languages_cannot_be_compared(counterfoil, shop, order):
    shop.write("order.avsc", order(id="string"))
    result = counterfoil("diff", "customer.schema.json", "order.avsc", folder=shop.folder)
    assert (result.code, result.out, result.err.count("\n")) == (14, "", 1)
    assert "customer.schema.json (JSON) and order.avsc (AVRO) are not schemas of one language" in result.err


@pytest.mark.slow
def test_a_schema_that_cannot_be_compared_within_the_limits_is_neither_compatible_nor_broken(counterfoil, workshop):
    """Nobody waits for it without end: other files are checked, and the exit code says that one could not be."""

    def dependencies(count):
        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "dependencies": {f"p{at}": [f"p{at + 1}"] for at in range(count)},
        }

    workshop.write("dear.schema.json", dependencies(600))
    workshop.write("other.schema.json", customer("id"))
    workshop.write("parts/address.json", ADDRESS)
    workshop.commit()
    workshop.write("dear.schema.json", dependencies(601))
    result = counterfoil("check", "--policy", "SOUND", "--format", "json", folder=workshop.folder)
    assert (result.code, result.rules) == (4, ["schema-undecided"]), result
    assert result.report["findings"][0]["path"] == "dear.schema.json"
