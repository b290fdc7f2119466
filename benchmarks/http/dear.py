"""The dearest known requests: for each route that takes a schema, a contract, a bridge, a rule set, a sketch, a query.

Each request has at most 100 kB, and is made of a number, so that no two of them are answered from a cache.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.sketch import PartSketch, TopicSketch, WriterSchema, make_sketcher
from counterfoil.schema.sketch.document import sketch_document
from strategies.cases.dear_inputs import GENES, Genome, avro_text, contract_text, json_text, protobuf_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_BYTES: Final = 100_000
AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
SUFFIXES: Final = {AVRO: "avsc", JSON: "json", PROTOBUF: "proto"}

Asked: TypeAlias = "tuple[str, str, Any]"
"""Method, path, and the body as JSON."""

Text: TypeAlias = "Callable[..., str]"
"""Returns the text of a schema by its number, and by whether it is the later one of two."""


@dataclass(frozen=True, slots=True)
class Dear:
    """A dear request: its name, the requests before it, and the request itself, each of the number ``{n}``."""

    name: str
    make: Callable[[int], tuple[Sequence[Asked], Asked]]


@dataclass(frozen=True, slots=True)
class DearSchema:
    """Two schemas of one language whose comparison, or whose reading, takes long."""

    name: str
    schema_type: str
    text: Text

    def pair(self, number: int) -> tuple[str, str]:
        """Return the earlier and the later text."""
        return self.text(number, is_later=False), self.text(number, is_later=True)


# --- schemas


def _nested(depth: int, kind: str, number: int, *, is_later: bool) -> str:
    levels: dict[str, Any] = {
        f"a_{level}": {kind: [{"$ref": f"#/definitions/a_{level + 1}"}] * 2} for level in range(depth)
    }
    levels[f"a_{depth}"] = {"properties": {"x": {"type": "string" if is_later else "integer"}}}
    return json.dumps({"title": f"t{number}", "$ref": "#/definitions/a_0", "definitions": levels})


def _pattern(pattern: str, number: int, *, is_later: bool) -> str:
    first = {"type": "string", "pattern": pattern} if is_later else {"type": "string"}
    return json.dumps({"title": f"t{number}", "properties": {"x": first}})


def _pattern_properties(count: int, number: int, *, is_later: bool) -> str:
    kind = {"type": "string", "minLength": 2 if is_later else 1}
    return json.dumps(
        {"title": f"t{number}", "patternProperties": {f"^[a-z]{{{at}}}x*{at}": kind for at in range(count)}}
    )


def _required(count: int, number: int, *, is_later: bool) -> str:
    names = [f"r{at}" for at in range(count + is_later)]
    return json.dumps({"title": f"t{number}", "type": "object", "required": names})


def _json_properties(count: int, number: int, *, is_later: bool) -> str:
    kind = "string" if is_later else "integer"
    return json.dumps({"title": f"t{number}", "properties": {f"p{at}": {"type": kind} for at in range(count)}})


def _json_empty(count: int, number: int, *, is_later: bool) -> str:
    return json.dumps({"title": f"t{number}", "anyOf": [{}] * (count + is_later)})


def _json_deep(depth: int, number: int, *, is_later: bool) -> str:
    return f'{{"title": "t{number}", "not": ' * depth + ("{}" if is_later else "true") + "}" * depth


def _renamed(count: int, number: int, *, is_later: bool) -> str:
    side = "b" if is_later else "a"
    return json.dumps([{"type": "record", "name": f"{side}{number}_{at}", "fields": []} for at in range(count)])


def _compatible(count: int, number: int, *, is_later: bool) -> str:
    added: list[Any] = [{"name": "y", "type": "int", "default": 0}] if is_later else []
    records = [
        {"type": "record", "name": f"r{number}_{at}", "fields": [{"name": "x", "type": "int"}, *added]}
        for at in range(count)
    ]
    return json.dumps(records)


def _avro_fields(count: int, number: int, *, is_later: bool) -> str:
    fields = [{"name": f"f{at}", "type": "string" if is_later else "int"} for at in range(count)]
    return json.dumps({"type": "record", "name": f"R{number}", "fields": fields})


def _messages(count: int, number: int, *, is_later: bool) -> str:
    kind = "string" if is_later else "int32"
    return f'syntax = "proto3"; package p{number};' + "".join(f"message A{at}{{{kind} a=1;}}" for at in range(count))


def _message_fields(count: int, number: int, *, is_later: bool) -> str:
    kind = "string" if is_later else "int32"
    fields = "".join(f"{kind} f{at}={at + 1};" for at in range(count))
    return f'syntax = "proto3"; package p{number}; message A{{{fields}}}'


def _numbered(text: Callable[..., str], genome: Genome, number: int, *, is_later: bool) -> str:
    """Return the text of a genome, with white space at its end: another text for each of 961 numbers in a row."""
    return text({**_LEAST, **genome}, is_later=is_later) + " " * (number % 31) + "\n" * (number // 31 % 31)


_JSON_GENOME: Final = {"definitions": 80, "links": 8, "jump": 3, "combination": 1, "properties": 9, "change": 1}
_AVRO_GENOME: Final = {"union": 40, "definitions": 80, "links": 6, "properties": 8, "change": 1, "renamed": 1}
_PROTOBUF_GENOME: Final = {"definitions": 80, "links": 8, "jump": 3, "properties": 20, "union": 9, "change": 1}
_LEAST: Final = {gene: low for gene, (low, _) in GENES.items()}

SCHEMAS: Final = (
    DearSchema("allOf, 14 deep", JSON, partial(_nested, 14, "allOf")),
    DearSchema("allOf, 25 deep", JSON, partial(_nested, 25, "allOf")),
    DearSchema("anyOf, 20 deep", JSON, partial(_nested, 20, "anyOf")),
    DearSchema("oneOf, 12 deep", JSON, partial(_nested, 12, "oneOf")),
    DearSchema("a pattern of 2,000,000", JSON, partial(_pattern, "((b{1000}){1000}){2}")),
    DearSchema("a pattern of 60,000", JSON, partial(_pattern, "^(?:[a-z]{1,300}){200}$")),
    DearSchema("500 patterns", JSON, partial(_pattern_properties, 500)),
    DearSchema("6,000 required", JSON, partial(_required, 6_000)),
    DearSchema("2,700 properties", JSON, partial(_json_properties, 2_700)),
    DearSchema("24,000 empty schemas", JSON, partial(_json_empty, 24_000)),
    DearSchema("2,000 times not", JSON, partial(_json_deep, 2_000)),
    DearSchema(
        "700 definitions", JSON,
        partial(_numbered, json_text, _JSON_GENOME),
    ),
    DearSchema("200 renamed records", AVRO, partial(_renamed, 200)),
    DearSchema("1,900 renamed records", AVRO, partial(_renamed, 1_900)),
    DearSchema("900 records", AVRO, partial(_compatible, 900)),
    DearSchema("2,000 fields", AVRO, partial(_avro_fields, 2_000)),
    DearSchema(
        "records that refer to others", AVRO,
        partial(_numbered, avro_text, _AVRO_GENOME),
    ),
    DearSchema("3,000 messages", PROTOBUF, partial(_messages, 3_000)),
    DearSchema("5,000 numbers", PROTOBUF, partial(_message_fields, 5_000)),
    DearSchema(
        "messages that refer to others", PROTOBUF,
        partial(_numbered, protobuf_text, _PROTOBUF_GENOME),
    ),
)  # fmt: skip

READ_ALONE: Final = frozenset({"24,000 empty schemas", "2,700 properties", "2,000 fields", "3,000 messages"})
"""The schemas that are also looked up, normalised, printed in other forms, and registered with tags."""

LOOKED_AT: Final = READ_ALONE | {
    "anyOf, 20 deep",
    "700 definitions",
    "1,900 renamed records",
    "records that refer to others",
    "messages that refer to others",
}
"""The schemas whose pages are requested."""


def _body(schema: DearSchema, text: str, **more: Any) -> dict[str, Any]:
    return {"schema": text, "schemaType": schema.schema_type, **more}


def _compared(schema: DearSchema, policy: str, number: int) -> tuple[Sequence[Asked], Asked]:
    subject, (earlier, later) = f"dear-{number}", schema.pair(number)
    before = (
        ("PUT", f"/config/{subject}", {"compatibility": "FULL", "compatibilityPolicy": policy}),
        ("POST", f"/subjects/{subject}/versions", _body(schema, earlier)),
    )
    return before, ("POST", f"/compatibility/subjects/{subject}/versions?verbose=true", _body(schema, later))


def _registered(schema: DearSchema, number: int) -> tuple[Sequence[Asked], Asked]:
    before, (_, _, body) = _compared(schema, "STRICT", number)
    return before, ("POST", f"/subjects/dear-{number}/versions", body)


def _first(schema: DearSchema, number: int) -> tuple[Sequence[Asked], Asked]:
    return (), (
        "POST",
        f"/subjects/dear-{number}/versions?normalize=true",
        _body(schema, schema.text(number, is_later=False)),
    )


def _looked_up(schema: DearSchema, number: int) -> tuple[Sequence[Asked], Asked]:
    earlier, later = schema.pair(number)
    before = (("POST", f"/subjects/dear-{number}/versions", _body(schema, earlier)),)
    return before, ("POST", f"/subjects/dear-{number}?normalize=true", _body(schema, later))


def _printed(schema: DearSchema, form: str, number: int) -> tuple[Sequence[Asked], Asked]:
    before = (("POST", f"/subjects/dear-{number}/versions", _body(schema, schema.text(number, is_later=False))),)
    return before, ("GET", f"/subjects/dear-{number}/versions/1?{form}", None)


def _tagged(schema: DearSchema, number: int) -> tuple[Sequence[Asked], Asked]:
    tags = {f"{'**.' * 8}*a*a*a*{at}": ["PII"] for at in range(300)}
    rules = [
        {"name": f"r{at}", "kind": "TRANSFORM", "type": "ENCRYPT", "mode": "WRITEREAD", "tags": ["PII"]}
        for at in range(200)
    ]
    more = {"metadata": {"tags": tags}, "ruleSet": {"domainRules": rules}}
    return (), ("POST", f"/subjects/dear-{number}/versions", _body(schema, schema.text(number, is_later=False), **more))


# --- documents


def _contract(text: str, application: str, number: int) -> tuple[Sequence[Asked], Asked]:
    document = json.loads(text)
    document["id"] = f"dear-{number}"
    for each in document["schema"]:
        each["authoritativeDefinitions"] = [{"type": "schema", "url": "./schema"}]
    contract = {"content": json.dumps(document), "schemas": {"./schema": {"schema": '"string"'}}}
    return (), ("POST", "/contracts/v1/check", {"application": application, "contract": contract})


def _fields_of_contract(count: int) -> str:
    properties = [{"name": f"f{at}", "logicalType": "string"} for at in range(count)]
    return _contract_document([{"name": "t", "logicalType": "object", "properties": properties}])


def _deep_contract(depth: int) -> str:
    properties: list[Any] = [{"name": "f", "logicalType": "string"}]
    for at in range(depth):
        properties = [{"name": f"o{at}", "logicalType": "object", "properties": properties}]
    return _contract_document([{"name": "t", "logicalType": "object", "properties": properties}])


def _contract_document(entries: list[Any]) -> str:
    head = {"kind": "DataContract", "apiVersion": "v3.1.0", "id": "a", "version": "1.0.0", "status": "active"}
    return json.dumps({**head, "schema": entries})


def _published(schema: DearSchema, number: int) -> tuple[Sequence[Asked], Asked]:
    """Publish a second version of a contract; its first one is published before, and then both are compared."""

    def publication(version: str, text: str) -> Asked:
        entry = {
            "name": "t", "logicalType": "object", "physicalName": f"dear-{number}",
            "customProperties": [{"property": "subject", "value": f"dear-{number}"}],
            "authoritativeDefinitions": [{"type": "schema", "url": "./schema"}],
        }  # fmt: skip
        document = json.loads(_contract_document([entry]))
        document |= {"id": f"dear-{number}", "version": version}
        contract = {"content": json.dumps(document), "schemas": {"./schema": _body(schema, text)}}
        body = {"application": f"dear-{number}", "version": version, "contracts": [contract]}
        return "POST", "/contracts/v1/publish", body

    earlier, later = schema.pair(number)
    before = (publication("1.0.0", earlier), publication("2.0.0", later))
    return before, ("GET", f"/contracts/v1/contracts/dear-{number}/versions/2.0.0/diff?from=1.0.0", None)


def _bridge(schema: DearSchema, fields: str, number: int) -> tuple[Sequence[Asked], Asked]:
    earlier, later = schema.pair(number)
    subject = f"dear-{number}"
    before = (
        ("PUT", f"/config/{subject}", {"compatibility": "NONE"}),
        ("POST", f"/subjects/{subject}/versions", _body(schema, earlier)),
    )
    plan = (
        f"bridge: dear-{number}\nsource: {{topic: a, subject: {subject}}}\ntarget: {{topic: b, subject: {subject}}}\n"
    )
    body = {"plan": plan + fields, "owner": "dear", "sourceSchema": _body(schema, later), "registerSource": True}
    return before, ("POST", "/bridges/v1", body)


_RULES: Final = "fields:\n" + "".join(f"  f{at}: {{expr: f0{' + f0' * 20}}}\n" for at in range(700))
_RENAMES: Final = "fields:\n" + "".join(f"  f{at}: {{from: f{at + 1}}}\n" for at in range(2_000))


def _sketch(number: int) -> tuple[Sequence[Asked], Asked]:
    schema = parse_schema(_avro_fields(700, number, is_later=False))
    sketcher = make_sketcher(schema, WriterSchema(schema.schema_type, schema.text))
    for value in range(3):
        sketcher.add({f"f{at}": at * value for at in range(700)}, 0)
    sketch = TopicSketch("dear", value=PartSketch({"1": sketcher.finish()}), value_subject=f"dear-{number}")
    return (), ("PUT", f"/sketches/v1/subjects/dear-{number}", sketch_document(sketch))


def _rule_set(number: int) -> tuple[Sequence[Asked], Asked]:
    rules = [
        {"name": f"r{at}", "kind": "CONDITION", "type": "CEL", "mode": "WRITE", "expr": "a" * 10, "tags": ["a"]}
        for at in range(900)
    ]
    text = json.dumps({"type": "record", "name": f"R{number}", "fields": []})
    body = {"schema": text, "ruleSet": {"domainRules": rules}}
    return (), ("POST", f"/subjects/dear-{number}/versions", body)


def _page(schema: DearSchema, path: str, number: int) -> tuple[Sequence[Asked], Asked]:
    """Request a page about the first version of a subject, which nobody has looked at."""
    before = (("POST", f"/subjects/dear-{number}/versions", _body(schema, schema.text(number, is_later=False))),)
    return before, ("GET", f"/ui/subjects/dear-{number}/{path}", None)


def _drafted(schema: DearSchema, number: int) -> tuple[Sequence[Asked], Asked]:
    before, (_, _, body) = _compared(schema, "STRICT", number)
    return before, ("POST", "/inspect/v1/verdict", {"draft": {**body, "subject": f"dear-{number}"}})


def _inspected(schema: DearSchema, number: int) -> tuple[Sequence[Asked], Asked]:
    before, (_, _, body) = _compared(schema, "STRICT", number)
    return before, ("POST", "/inspect/v1/diff", {"from": f"dear-{number}@1", "to": body})


def _decoded(number: int) -> tuple[Sequence[Asked], Asked]:
    """Decode an array of 44,000 empty arrays, of one byte each."""
    schema = {"type": "array", "items": {"type": "array", "items": "null"}}
    before = (("POST", f"/subjects/dear-{number}/versions", {"schema": json.dumps(schema) + " " * (number % 997)}),)
    count = bytes.fromhex("c0af05")
    body = {"text": (count + bytes(44_000 + 1)).hex(), "form": "hex", "subject": f"dear-{number}"}
    return before, ("POST", "/inspect/v1/decode", body)


def _query(path: str, number: int) -> tuple[Sequence[Asked], Asked]:
    return (), ("GET", path.format(n=number), None)


def _posted(path: str, body: Any, number: int) -> tuple[Sequence[Asked], Asked]:
    return (), ("POST", path, json.loads(json.dumps(body).replace("{n}", str(number))))


def _of_schemas() -> list[Dear]:
    found = []
    for schema in SCHEMAS:
        found.append(Dear(f"test, {schema.name}", partial(_compared, schema, "STRICT")))
        found.append(Dear(f"test under SOUND, {schema.name}", partial(_compared, schema, "SOUND")))
        if schema.name in READ_ALONE:
            forms = {JSON: "findTags=true", AVRO: "format=resolved", PROTOBUF: "format=serialized"}
            form = forms[schema.schema_type]
            found += [
                Dear(f"registration, {schema.name}", partial(_registered, schema)),
                Dear(f"first version, {schema.name}", partial(_first, schema)),
                Dear(f"look-up, {schema.name}", partial(_looked_up, schema)),
                Dear(f"?{form}, {schema.name}", partial(_printed, schema, form)),
                Dear(f"?findTags, {schema.name}", partial(_printed, schema, "findTags=true")),
                Dear(f"300 tags by path, {schema.name}", partial(_tagged, schema)),
                Dear(f"diff of contracts, {schema.name}", partial(_published, schema)),
                Dear(f"bridge, {schema.name}", partial(_bridge, schema, "")),
            ]
    return found


def _of_pages() -> list[Dear]:
    found = []
    for schema in (each for each in SCHEMAS if each.name in LOOKED_AT):
        found += [
            Dear(f"page of {schema.name}", partial(_page, schema, "versions/1")),
            Dear(f"page of the text of {schema.name}", partial(_page, schema, "versions/1?view=raw")),
            Dear(f"page of a subject with {schema.name}", partial(_page, schema, "")),
            Dear(f"draft, {schema.name}", partial(_drafted, schema)),
            Dear(f"comparison, {schema.name}", partial(_inspected, schema)),
        ]
    return [
        *found,
        Dear("bytes of 44,000 arrays", _decoded),
        Dear(
            "search for 1,000 words",
            partial(_query, f"/inspect/v1/search?in=any&q={'+'.join(map(str, range(1_000)))}{{n}}"),
        ),
        Dear("search for one letter", partial(_query, "/inspect/v1/search?in=any&q=f&limit=100&n={n}")),
        Dear("page of the subjects", partial(_query, "/ui/subjects?prefix=dear&n={n}")),
    ]


def _others() -> list[Dear]:
    avro = next(each for each in SCHEMAS if each.name == "2,000 fields")
    wide = replace(avro, text=partial(_avro_fields, 700))
    genome = {**_LEAST, "depth": 40, "stars": 60, "properties": 20, "links": 4}
    long = "x" * 8_000
    return [
        Dear("contract of 1,800 fields", partial(_contract, _fields_of_contract(1_800), "dear")),
        Dear("contract, 400 deep", partial(_contract, _deep_contract(400), "dear")),
        Dear("contract with patterns", partial(_contract, contract_text(genome), "dear")),
        Dear("bridge with 700 expressions", partial(_bridge, wide, _RULES)),
        Dear("bridge with 2,000 renames", partial(_bridge, avro, _RENAMES)),
        Dear("sketch", _sketch),
        Dear("rule set of 900 rules", _rule_set),
        Dear("subjects with a prefix", partial(_query, f"/subjects?subjectPrefix={long}{{n}}")),
        Dear("contexts with a prefix", partial(_query, f"/contexts?contextPrefix={long}{{n}}")),
        Dear("schemas of a subject", partial(_query, "/schemas?subjectPrefix=dear-&latestOnly=true&n={n}")),
        Dear("fields of consumers", partial(_query, "/contracts/v1/subjects/dear-1/fields?n={n}")),
        Dear("the matrix", partial(_query, "/contracts/v1/matrix?subject=dear-1&environment=x{n}")),
        Dear("the changes", partial(_query, "/changes?limit=1000&n={n}")),
    ]


DEAR: Final = (*_of_schemas(), *_of_pages(), *_others())
"""Every dear request."""
