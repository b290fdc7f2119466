"""Which file a name in another file means: import paths of Protobuf, ``$ref`` of JSON Schema."""

from __future__ import annotations

import json

import pytest

from counterfoil.contracts.baselines import match_paths
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.texts import Position


def tree(files, other=None, validation=Validation.STRICT):
    """A side with ``files``; those of ``other`` are there for who asks for them by path."""
    made = [SchemaFile(path, as_bytes(content)) for path, content in files.items()]
    known = {path: as_bytes(content) for path, content in (other or {}).items()}
    return SchemaTree(made, label="here", validation=validation, other=known.get)


def as_bytes(content):
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content, indent=1)).encode()


def proto(body, *imports):
    return "\n".join(['syntax = "proto3";', *(f'import "{path}";' for path in imports), body, ""])


def using(*texts):
    """A JSON schema that refers to these."""
    return {"type": "object", "properties": {f"p{number}": {"$ref": text} for number, text in enumerate(texts)}}


def said(found):
    assert found.schema is None
    return found.problem.text, found.problem.position


class TestProtobuf:
    def test_an_import_path_is_the_end_of_a_files_path(self):
        side = tree({"protos/shop/order.proto": proto("message O { L l = 1; }", "x/l.proto"), "protos/x/l.proto": L})
        assert side.read("protos/shop/order.proto").schema.name == "O"
        assert side.content("protos/shop/order.proto")[1:] == (L,)

    def test_a_files_path_must_end_with_whole_names(self):
        side = tree({"o.proto": proto("message O {}", "l.proto"), "xl.proto": L})
        assert [one.text for one in side.read("o.proto").missing] == [
            "no file here has a path that ends with 'l.proto'"
        ]

    @pytest.mark.parametrize(
        ("paths", "nearest"),
        [
            (["l.proto", "a/l.proto", "a/b/l.proto"], "a/b/l.proto"),
            (["l.proto", "a/l.proto", "a/c/l.proto"], "a/l.proto"),
            (["l.proto", "a/b/c/l.proto"], "l.proto"),  # folders around the file go before all others
            (["x/l.proto", "a/c/l.proto"], "a/c/l.proto"),
        ],
    )
    def test_the_nearest_file_counts(self, paths, nearest):
        files = {path: proto(f"message L {{ int32 f{n} = 1; }}") for n, path in enumerate(paths)}
        side = tree({"a/b/o.proto": proto("message O { L l = 1; }", "l.proto"), **files})
        assert side.content("a/b/o.proto")[1] == files[nearest]

    def test_two_that_are_as_near_and_differ_are_reported(self):
        files = {"x/l.proto": L, "y/l.proto": proto("message L { int32 a = 1; }")}
        side = tree({"a/o.proto": proto("message O { L l = 1; }", "l.proto"), **files})
        text = "'l.proto' may mean x/l.proto or y/l.proto, which differ"
        assert said(side.read("a/o.proto")) == (text, Position(2, 8))

    def test_two_copies_are_one(self):
        side = tree({"a/o.proto": proto("message O { L l = 1; }", "l.proto"), "x/l.proto": L, "y/l.proto": L})
        assert side.read("a/o.proto").schema

    def test_imports_of_imports_are_found_from_the_file_that_is_read(self):
        files = {
            "o.proto": proto("message O { L l = 1; }", "m.proto"),
            "m.proto": 'syntax = "proto3";\nimport public "l.proto";\n',
            "l.proto": L,
        }
        assert tree(files).read("o.proto").content[1:] == (L, files["m.proto"])

    def test_what_everyone_may_import_is_the_kernels_business(self):
        paths = ("google/protobuf/timestamp.proto", "google/type/date.proto", "confluent/meta.proto")
        found = tree({"o.proto": proto("message O { google.type.Date d = 1; }", *paths)}).read("o.proto")
        assert (found.schema.name, found.missing) == ("O", ())

    def test_circles(self):
        files = {f"{a}.proto": proto(f"message {a} {{}}", f"{b}.proto") for a, b in ("XA", "AB", "BA")}
        text = "the files refer to one another in a circle: A.proto → B.proto → A.proto"
        assert said(tree(files).read("X.proto")) == (text, Position(2, 8))
        assert said(tree({"s.proto": proto("", "s.proto")}).read("s.proto"))[0].endswith("s.proto → s.proto")

    def test_endless_rows_of_files(self):
        files = {f"f{n}.proto": proto(f"message M{n} {{}}", f"f{n + 1}.proto") for n in range(2000)}
        assert "files refer to one another in a row" in said(tree(files).read("f0.proto"))[0]

    def test_everybody_imports_everybody_below(self):
        many = range(60)
        files = {f"f{n}.proto": proto(f"message M{n} {{}}", *(f"f{m}.proto" for m in many[n + 1 :])) for n in many}
        assert len(tree(files).read("f0.proto").content) == len(many)

    def test_a_broken_file_is_reported_where_it_is_imported(self):
        side = tree({"o.proto": proto("message O { L l = 1; }", "l.proto"), "l.proto": "message {"})
        text, position = said(side.read("o.proto"))
        assert text.startswith("it refers to l.proto:1:9, which is invalid: ")
        assert position == Position(2, 8)

    def test_a_fault_of_its_own_comes_first(self):
        side = tree({"o.proto": proto("message {", "l.proto"), "l.proto": "message {"})
        assert said(side.read("o.proto"))[1] == Position(3, 9)

    def test_an_import_that_is_no_text(self):
        side = tree({"o.proto": proto("message O {}", "l.proto"), "l.proto": b"\xff"})
        assert said(side.read("o.proto")) == ("l.proto, which is referred to, is not UTF-8 text", Position(2, 8))


L = proto("message L {}")


class TestJsonSchema:
    def test_by_identifier_wherever_the_file_is(self):
        item = {"$id": "https://shop.example/item.json", "type": "string"}
        side = tree({"far/away.jsonschema": item, "o.schema.json": using("https://shop.example/item.json#")})
        assert side.read("o.schema.json").schema
        assert side.content("o.schema.json")[1] == json.dumps(item, indent=1)

    def test_relative_to_the_identifier(self):
        item = {"$id": "https://shop.example/item.json", "type": "string"}
        order = {"$id": "https://shop.example/order.json", **using("item.json", "order.json#/properties/p0")}
        found = tree({"i.schema.json": item, "o.schema.json": order}).read("o.schema.json")
        assert (found.problem, len(found.content)) == (None, 2)

    def test_identifiers_of_parts(self):
        order = {"$id": "https://x.example/o", "$defs": {"part": {"$id": "parts/a"}}, **using("parts/a")}
        found = tree({"o.schema.json": order}).read("o.schema.json")
        assert (found.problem, len(found.content)) == (None, 1)

    def test_by_relative_path_also_to_plain_json(self):
        side = tree(
            {"a/o.schema.json": using("../b/one.schema.json#/x", "two.json", "/b/three.json")},
            {"b/one.schema.json": {"x": {}}, "a/two.json": {"type": "string"}, "b/three.json": {"type": "null"}},
        )
        found = side.read("a/o.schema.json")
        assert (found.problem, len(found.content)) == (None, 4)
        assert side.paths == ("a/o.schema.json",)

    def test_one_text_that_means_two_files(self):
        parts = {
            "one/x.json": {"type": "array", "items": {"$ref": "part.json"}},
            "two/x.json": {"type": "array", "items": {"$ref": "part.json"}},
            "one/part.json": {"type": "string"},
            "two/part.json": {"type": "object"},
        }
        earlier = tree({"o.schema.json": using("one/x.json", "two/x.json")}, parts).read("o.schema.json")
        swapped = {**parts, "one/part.json": parts["two/part.json"], "two/part.json": parts["one/part.json"]}
        later = tree({"o.schema.json": using("one/x.json", "two/x.json")}, swapped).read("o.schema.json")
        assert len(earlier.content) == len(later.content) == 5
        changed = language_for(SchemaType.JSON).find_differences(later.schema, earlier.schema)
        assert [one.path for one in changed] == ["#/properties/p0/items", "#/properties/p1/items"]

    @pytest.mark.parametrize("text", ["nowhere.json", "https://x.example/a#/b", "../../etc/passwd", "http://[", "//"])
    def test_what_leads_nowhere_is_reported_at_its_place(self, text):
        found = tree({"a/o.schema.json": using(text)}).read("a/o.schema.json")
        assert said(found)[1] == Position(5, 12)
        assert text.partition("#")[0] in said(found)[0]

    def test_what_another_file_misses(self):
        side = tree({"o.schema.json": using("a.json")}, {"a.json": using("b.json")})
        text = "no file here has the $id or the relative path 'b.json', which a.json refers to"
        assert said(side.read("o.schema.json")) == (text, Position(5, 12))

    def test_the_drafts_own_schemas_are_the_kernels_business(self):
        found = tree({"o.schema.json": using("http://json-schema.org/draft-07/schema#")}).read("o.schema.json")
        assert (found.problem, found.missing) == (None, ())

    def test_itself_by_path_is_no_circle(self):
        order = {"type": "object", **using("o.schema.json#/$defs/a"), "$defs": {"a": {"type": "string"}}}
        assert tree({"o.schema.json": order}).read("o.schema.json").schema

    def test_circles(self):
        files = {"a.schema.json": using("b.schema.json"), "b.schema.json": using("a.schema.json#/properties")}
        text = "the files refer to one another in a circle: a.schema.json → b.schema.json → a.schema.json"
        assert said(tree(files).read("a.schema.json")) == (text, Position(5, 12))

    def test_two_files_of_one_identifier(self):
        files = {f"{folder}/i.schema.json": {"$id": "https://x.example/i", "title": folder} for folder in "xy"}
        side = tree(
            {"o.schema.json": using("https://x.example/i"), "y/o.schema.json": using("https://x.example/i")} | files
        )
        assert "x/i.schema.json or y/i.schema.json" in said(side.read("o.schema.json"))[0]
        assert side.content("y/o.schema.json")[1] == json.dumps(files["y/i.schema.json"], indent=1)

    def test_plain_json_that_declares_an_avro_type_is_avro(self):
        side = tree({"a.json": {"type": "enum", "name": "E", "symbols": []}, "b.json": {"type": "object"}})
        assert [side.language(path) for path in side.paths] == [SchemaType.AVRO, SchemaType.JSON]


def moved(*contents):
    """What the second side's ``new`` file comes from, when each side has one file with one of ``contents``."""
    earlier, later = contents
    return match_paths(tree({f"new{later[0]}": later[1]}), tree({f"old{earlier[0]}": earlier[1]}))


@pytest.mark.parametrize(
    ("earlier", "later", "is_same"),
    [
        ((".proto", "package a; message M {}"), (".proto", "package a; message M { int32 x = 1; }"), True),
        ((".proto", "package a; message M {}"), (".proto", "package b; message M {}"), False),
        ((".proto", "message M {}"), (".proto", "message N {} message M {}"), False),
        ((".schema.json", {"$id": "x", "title": "A"}), (".jsonschema", {"$id": "x", "title": "B"}), True),
        ((".schema.json", {"title": "A"}), (".schema.json", {"title": "A", "type": "object"}), True),
        ((".schema.json", {"type": "object"}), (".schema.json", {"type": "object"}), True),
        ((".schema.json", {"type": "object"}), (".schema.json", {"type": "array"}), False),
        ((".avsc", {"type": "record", "name": "A", "fields": []}), (".proto", "message A {}"), False),
    ],
)
def test_what_a_schema_is_known_by_when_its_file_moves(earlier, later, is_same):
    assert moved(earlier, later) == ({f"new{later[0]}": f"old{earlier[0]}"} if is_same else {})
