"""Small inputs that may take long: made of a few numbers, so that a search can change one of them at a time.

A genome has a number for each way in which inputs become dear: nesting, sharing, unions, patterns, conditions, names,
imports. The same genome makes the schema of each language, and the documents that go with it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

GENES: Final[Mapping[str, tuple[int, int]]] = {
    "depth": (0, 60),
    "definitions": (1, 80),
    "links": (0, 8),
    "jump": (1, 9),
    "union": (0, 40),
    "renamed": (0, 1),
    "properties": (0, 40),
    "required": (0, 200),
    "patterns": (0, 60),
    "pattern_size": (1, 400),
    "conditions": (0, 12),
    "combination": (0, 3),
    "values": (0, 300),
    "length": (1, 200),
    "imports": (0, 6),
    "draft": (0, 1),
    "change": (0, 5),
    "rules": (0, 40),
    "stars": (0, 60),
    "ring": (0, 900),
    "maps": (0, 60),
    "extensions": (0, 60),
    "ranges": (0, 60),
    "options": (0, 60),
    "reads": (0, 200),
    "cel": (0, 60),
    "lists": (0, 900),
}
"""The least and the largest number of each gene."""

Genome = dict[str, int]
KINDS: Final = ("string", "integer", "number", "boolean", "null", "string")
COMBINATIONS: Final = ("allOf", "anyOf", "oneOf", "allOf")


def random_genome(rng: random.Random) -> Genome:
    """Return a genome in which most numbers are small."""
    return {gene: _drawn(rng, *limits) for gene, limits in GENES.items()}


def _drawn(rng: random.Random, low: int, high: int) -> int:
    return min(high, low + int((high - low + 1) * rng.random() ** 3))


def changed_genome(genome: Genome, rng: random.Random) -> Genome:
    """Return the genome with one or two numbers changed."""
    made = dict(genome)
    for gene in rng.sample(sorted(GENES), rng.choice((1, 1, 2))):
        low, high = GENES[gene]
        now = made[gene]
        made[gene] = min(high, max(low, rng.choice((now + 1, now - 1, now * 2, now // 2, _drawn(rng, low, high)))))
    return made


def json_text(genome: Genome, *, is_later: bool) -> str:
    """Return a JSON schema."""
    kind = KINDS[genome["change"]] if is_later else "string"
    count, links = genome["definitions"], genome["links"]
    definitions = {}
    for at in range(count):
        refs = [{"$ref": f"#/definitions/d{(at + 1 + link * genome['jump']) % count}"} for link in range(links)]
        combination = COMBINATIONS[genome["combination"]]
        is_acyclic = genome["combination"] == 0
        refs = [ref for ref in refs if not is_acyclic or int(ref["$ref"].rpartition("d")[2]) > at]
        properties = {f"p{link}": ref for link, ref in enumerate(refs)}
        definitions[f"d{at}"] = {combination: refs} if is_acyclic and refs else {"properties": properties}
    definitions[f"d{count - 1}"] = _json_leaf(genome, kind)
    ring = _ring_length(genome, is_later=is_later)
    for at in range(ring):
        next_one = {"n": {"$ref": f"#/definitions/c{(at + 1) % ring}"}}
        definitions[f"c{at}"] = {"properties": {**next_one, **({} if at else {"v": {"type": kind}})}}
    schema: dict[str, Any] = {"$ref": "#/definitions/d0"}
    if ring:
        schema = {"properties": {"d": schema, "c": {"$ref": "#/definitions/c0"}}}
    branches = [_json_branch(genome, at, kind, is_later=is_later) for at in range(genome["union"])]
    if branches:
        schema = {"properties": {"r": schema, "u": {COMBINATIONS[genome["combination"]]: branches}}}
    for at in range(genome["depth"]):
        schema = {"anyOf": [schema, {"type": "array", "items": schema}]} if at < genome["imports"] else {"not": schema}
    for at in range(genome["conditions"]):
        schema = {"if": {"properties": {"c": {"minimum": at}}}, "then": schema, "else": {"required": [f"e{at}"]}}
    draft = "https://json-schema.org/draft/2020-12/schema" if genome["draft"] else None
    return json.dumps({**({"$schema": draft} if draft else {}), **schema, "definitions": definitions})


def _ring_length(genome: Genome, *, is_later: bool) -> int:
    """Return the number of types in a circle: another one in the later schema, so that each meets each of the other."""
    return genome["ring"] + (1 if is_later and genome["ring"] else 0)


def _json_branch(genome: Genome, at: int, kind: str, *, is_later: bool) -> Any:
    name = f"b{at}{'x' if is_later and genome['renamed'] else ''}"
    return {"properties": {name: {"type": kind}, "r": {"$ref": "#/definitions/d0"}}, "required": [name]}


def _json_leaf(genome: Genome, kind: str) -> dict[str, Any]:
    leaf: dict[str, Any] = {"properties": {f"x{at}": {"type": kind} for at in range(genome["properties"] + 1)}}
    pattern = f"(?:[a-z]{{{genome['pattern_size']}}}){{{genome['length'] // 4 + 1}}}"
    leaf["patternProperties"] = {f"^{pattern}{at}": {"type": kind} for at in range(genome["patterns"])}
    leaf["required"] = [f"x{at}" for at in range(genome["required"])]
    if genome["values"]:
        leaf["properties"]["v"] = {"enum": [f"{kind}{at}" for at in range(genome["values"])]}
    if genome["stars"]:
        leaf["propertyNames"] = {"pattern": f"^(?:{'a*' * min(20, genome['stars'])})*$"}
    return leaf


def avro_text(genome: Genome, *, is_later: bool) -> str:
    """Return an Avro schema: a union of records which refer to earlier ones."""
    suffix = "x" if is_later and genome["renamed"] else ""
    later = ("string", "int", "long", "boolean", "null", "bytes")[genome["change"]] if is_later else "int"
    records: list[Any] = []
    for at in range(max(1, genome["union"], genome["definitions"])):
        fields: list[dict[str, Any]] = [
            {"name": f"f{field}", "type": later} for field in range(genome["properties"] + 1)
        ]
        for link in range(genome["links"]):
            target = f"R{max(0, at - 1 - link * genome['jump'])}{suffix}"
            fields.append({"name": f"l{link}", "type": ["null", target] if at else "null"})
        if genome["values"] and not at:
            symbols = [f"S{value}{suffix}" for value in range(genome["values"])]
            fields.append({"name": "e", "type": {"type": "enum", "name": f"E{suffix}", "symbols": symbols}})
        records.append({"type": "record", "name": f"R{at}{suffix}", "fields": fields})
    ring = _ring_length(genome, is_later=is_later)
    for at in range(ring):  # each has the one before, so that a long chain is below the last
        before = [{"name": "n", "type": f"C{at - 1}{suffix}"}] if at else []
        records.append({"type": "record", "name": f"C{at}{suffix}", "fields": [{"name": "v", "type": later}, *before]})
    if records and genome["maps"]:
        held = [
            {"name": f"m{at}", "type": {"type": "map", "values": records[0]["name"]}} for at in range(genome["maps"])
        ]
        records[-1]["fields"] += held if len(records) > 1 else []
    schema: Any = records if genome["union"] else _nested_records(records)
    for _ in range(genome["depth"]):
        schema = {"type": "array", "items": schema}
    return json.dumps(schema)


def _nested_records(records: list[Any]) -> Any:
    fields = [{"name": f"r{at}", "type": each} for at, each in enumerate(records)]
    return {"type": "record", "name": "Top", "fields": fields}


def protobuf_text(genome: Genome, *, is_later: bool) -> str:
    """Return a Protobuf schema: messages that refer to one another, some inside others."""
    later = ("int32", "string", "bytes", "bool", "int64", "double")[genome["change"]] if is_later else "int32"
    name = "N" if is_later and genome["renamed"] else "M"
    count = genome["definitions"]
    parts = ['syntax = "proto3";']
    for at in range(count):
        fields = [f"{later} f{field} = {field + 1};" for field in range(genome["properties"] + 1)]
        first = genome["properties"] + 2
        for link in range(genome["links"]):
            target = f"{name}{(at + 1 + link * genome['jump']) % count}"
            fields.append(f"repeated {target} l{link} = {first + link};")
        if genome["union"]:
            inner = "".join(f"{later} o{one} = {first + 100 + one};" for one in range(genome["union"]))
            fields.append(f"oneof u {{ {inner} }}")
        parts.append(f"message {name}{at} {{ {' '.join(fields)} }}")
    ring = _ring_length(genome, is_later=is_later)
    parts += [f"message C{at} {{ C{(at + 1) % ring} n = 1; {later} v = 2; }}" for at in range(ring)]
    parts += _protobuf_extras(genome, name, later)
    nested = "".join(f"message D{at} {{ {name}0 x = 1; " for at in range(genome["depth"])) + "}" * genome["depth"]
    values = " ".join(f"V{value} = {value};" for value in range(genome["values"] + 1))
    return "\n".join([*parts, nested, f"enum E {{ {values} }}"])


def _protobuf_extras(genome: Genome, name: str, later: str) -> list[str]:
    """Return imports, options, and a message with maps, extensions and ranges."""
    known = ("any", "api", "duration", "empty", "struct", "timestamp", "wrappers")[: genome["imports"]]
    parts = [f'import "google/protobuf/{each}.proto";' for each in known]
    maps = "".join(f"map<string, {name}0> m{at} = {at + 1};" for at in range(genome["maps"]))
    ranges = "".join(f"reserved {10_000 + at * 3} to {10_001 + at * 3};" for at in range(genome["ranges"]))
    options = "".join(f"optional {later} p{at} = {1000 + at} [deprecated = true];" for at in range(genome["options"]))
    parts.append(f"message X {{ {maps} {ranges} {options} }}")
    if genome["extensions"]:
        parts.append('import "google/protobuf/descriptor.proto";')
        added = "".join(f"{later} x{at} = {50_000 + at};" for at in range(genome["extensions"]))
        parts.append(f"extend google.protobuf.FieldOptions {{ {added} }}")
    return parts


TEXTS: Final[Mapping[str, Callable[..., str]]] = {"JSON": json_text, "AVRO": avro_text, "PROTOBUF": protobuf_text}


def bridge_rules(genome: Genome) -> dict[str, Any]:
    """Return the rules of a bridge."""
    expression = (
        "-" * genome["depth"] + "(" * genome["depth"] + "f0" + " + f0" * genome["rules"] + ")" * genome["depth"]
    )
    rules: dict[str, Any] = {
        f"f{at}": {"expr": expression} for at in range(min(genome["properties"], genome["rules"]) + 1)
    }
    for at in range(genome["maps"]):
        rules[f"r{at}" + ".l0" * genome["links"]] = {"from": f"r{at}" + ".l1" * genome["links"]}
    return rules


MAX_COMPREHENSIONS: Final = 2


def cel_text(genome: Genome) -> str:
    """Return an expression in CEL: one comprehension in another, long sums, brackets, patterns.

    Each further comprehension multiplies the cost by the number of values, which no engine of CEL bounds.
    """
    inner = "message.n" + " + message.n" * genome["cel"] + " > 0"
    for at in range(min(genome["cel"], genome["depth"], MAX_COMPREHENSIONS)):
        inner = f"message.v.{('all', 'exists', 'exists_one')[at % 3]}(a{at}, a{at} >= 0 && {inner})"
    pattern = "(" * min(9, genome["depth"]) + "a*" * min(20, genome["stars"]) + ")*" * min(9, genome["depth"]) + "b"
    brackets = min(genome["cel"] * genome["links"], 400)
    return f"{'(' * brackets}{inner}{')' * brackets} || message.s.matches('{pattern}')"


def rule_set(genome: Genome) -> dict[str, Any]:
    """Return a rule set whose rules are expressions in CEL."""
    kinds = (("CONDITION", "CEL"), ("TRANSFORM", "CEL_FIELD"), ("CONDITION", "CEL_FIELD"))
    rules = [
        {
            "name": f"r{at}",
            "kind": kinds[at % 3][0],
            "type": kinds[at % 3][1],
            "mode": ("WRITE", "READ", "WRITEREAD")[at % 3],
            "tags": [f"T{at}"],
            "expr": cel_text(genome),
        }
        for at in range(genome["rules"])
    ]
    return {"domainRules": rules}


def contract_text(genome: Genome) -> str:
    """Return a contract file."""
    field = {
        "name": "f",
        "logicalType": "string",
        "logicalTypeOptions": {"pattern": "(" * genome["depth"] + "a*" * genome["stars"] + ")" * genome["depth"]},
    }
    properties: list[Any] = [{**field, "name": f"f{at}"} for at in range(genome["properties"] + 1)]
    for at in range(genome["depth"]):
        properties = [{"name": f"o{at}", "logicalType": "object", "properties": properties}]
    checks = [
        {"type": "library", "rule": "rowCount", "mustBeBetween": [at, at + 1]} for at in range(genome["required"])
    ]
    entries = [
        {"name": f"t{at}", "logicalType": "object", "properties": properties, "quality": checks}
        for at in range(genome["links"] + 1)
    ]
    return json.dumps(
        {
            "kind": "DataContract",
            "apiVersion": "v3.1.0",
            "id": "a",
            "version": "1.0.0",
            "status": "active",
            "schema": entries,
        }
    )
