"""Apache Avro's checker for Python, which Karapace asks.

It differs from the one for Java in five things. Four are matters of spelling, so it is asked in a spelling that it
understands: an ``error`` resolves like a record, and it does not know the word; it compares an alias as it is written
with the writer's full name; it looks for a name neither in the null namespace nor further down. The fifth is its own: a
field that matches several fields of the writer takes the one of its own name, where Java throws.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import avro.compatibility
import avro.schema
from pairs import COUNT, pairs, parsed, parsed_pairs

from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.policies import find_differences
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.avro.types import PRIMITIVE_KINDS
from counterfoil.schema.parsed import Validation

KNOWN_WORDS = {*PRIMITIVE_KINDS, "record", "error", "enum", "fixed", "array", "map"}


def test_what_python_finds_is_found():
    asked, wrong = 0, []
    for texts, pair in zip(pairs(), parsed_pairs(), strict=True):
        found = find_differences(*pair)
        if [each.rule for each in found] == [rules.AMBIGUOUS_ALIAS.id]:
            continue
        asked += 1
        if python_finds(texts) != {each.error_type for each in found}:
            wrong.append(texts)
    assert wrong == []
    assert asked > COUNT * 9 // 10


def test_an_ambiguous_field_is_the_one_of_its_own_name_in_python():
    text = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"%s}, {"name": "b", "type": "int"}]}'
    pair = (text % ', "aliases": ["b"]', text % "")
    assert python_finds(pair) == set()
    assert [each.rule for each in find_differences(*map(parsed, pair))] == [rules.AMBIGUOUS_ALIAS.id]


def python_finds(texts: tuple[str, str]) -> set[str]:
    """The error types that Apache's checker gives; empty when it says compatible."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about logical types it does not know
        reader, writer = (avro.schema.parse(as_python_reads(text)) for text in texts)
    checker = avro.compatibility.ReaderWriterCompatibilityChecker()
    result = checker.get_compatibility(reader, writer)
    types = {each.name.upper() for each in result.incompatibilities}
    is_compatible = result.compatibility is avro.compatibility.SchemaCompatibilityType.compatible
    assert is_compatible == (types == set())
    return types


def as_python_reads(text: str) -> str:
    """The same schema: errors are records, names and aliases are full, the null namespace is one called ``_``.

    Types are declared before their names are used.
    """
    declared_first = parse_avro(text, validation=Validation.LENIENT).canonical()
    return json.dumps(respelled(json.loads(declared_first), None, set()))


def respelled(node: Any, namespace: str | None, declared: set[str]) -> Any:
    if isinstance(node, list):
        return [respelled(branch, namespace, declared) for branch in node]
    if isinstance(node, str):
        return node if node in KNOWN_WORDS else _known_name(node, namespace, declared)
    spelt = {key: value for key, value in node.items() if key not in ("namespace", "default")}
    if "name" in node:
        space = node.get("namespace", namespace)
        spelt["name"] = full_name(node["name"], space)
        declared.add(spelt["name"])
        namespace = spelt["name"].rpartition(".")[0]
    if "aliases" in node:
        spelt["aliases"] = [full_name(alias, namespace) for alias in node["aliases"]]
    if node["type"] == "error":
        spelt["type"] = "record"
    if "default" in node and node["type"] == "enum":
        spelt["default"] = node["default"]
    for inner in ("items", "values"):
        if inner in node:
            spelt[inner] = respelled(node[inner], namespace, declared)
    if "fields" in node:
        spelt["fields"] = [{**field, "type": respelled(field["type"], namespace, declared)} for field in node["fields"]]
    return spelt


def full_name(written: str, namespace: str | None) -> str:
    return written if "." in written else f"{namespace or '_'}.{written}"


def _known_name(written: str, namespace: str | None, declared: set[str]) -> str:
    name = full_name(written, namespace)
    return name if name in declared else f"_.{written}"
