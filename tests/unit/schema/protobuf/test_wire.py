"""WIRE and WIRE_JSON against ``buf breaking`` itself: the same rules, as often, for every pair.

The pairs are written by hand (``tests/data/protobuf/wire_pairs.jsonl``, each with the change it shows), of every two
types, and seeded ones. All are one module in which each pair has a package of its own, so that buf starts twice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.judgement import check_compatibility
from counterfoil.schema.languages.protobuf.policies import find_differences
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from strategies.protobuf.pairs import SCALARS, seeded_pair

BUF = Path(sys.executable).parent / "buf"
BY_HAND = Path(__file__).parents[3] / "data" / "protobuf" / "wire_pairs.jsonl"
POLICIES = (CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON)
SEEDS = 200
TYPES = (*SCALARS, "E", "F", "N", "O")
OF_TYPES = (
    'syntax = "proto3"; package PACKAGE; enum E {{ E0 = 0; }} enum F {{ F0 = 0; }} message N {{ int32 a = 1; }} '
    "message O {{ int32 a = 1; }} message M {{ {} f = 1; }}"
)


@cache
def pairs() -> list[tuple[str, str, str]]:
    """What each pair shows, its earlier and its later text."""
    by_hand = [json.loads(line) for line in BY_HAND.read_text(encoding="utf-8").splitlines()]
    texts = [(each["change"], each["earlier"], each["later"]) for each in by_hand]
    texts += [
        (f"{one} to {other}", OF_TYPES.format(one), OF_TYPES.format(other)) for one, other in permutations(TYPES, 2)
    ]
    texts += [(f"seed {seed}", *seeded_pair(seed, package="PACKAGE")) for seed in range(SEEDS)]
    return [
        (change, earlier.replace("PACKAGE", f"p{number}"), later.replace("PACKAGE", f"p{number}"))
        for number, (change, earlier, later) in enumerate(texts)
    ]


@pytest.mark.slow
def test_every_pair_breaks_the_rules_that_buf_says(tmp_path: Path):
    write_modules(tmp_path)
    said = {policy: asked(tmp_path, policy) for policy in POLICIES}
    wrong = []
    broken: Counter[str] = Counter()
    for number, (change, earlier, later) in enumerate(pairs()):
        reader, writer = parse_protobuf(later), parse_protobuf(earlier)
        for policy in POLICIES:
            found = find_differences(reader, writer, policy=policy)
            rules = Counter(each.rule.upper().replace("-", "_") for each in found)
            broken[policy] += bool(rules)
            if rules != said[policy][number]:
                wrong.append((policy, change, rules, said[policy][number]))
    assert wrong == []
    assert len(pairs()) == 757
    assert all(400 < broken[policy] < 700 for policy in POLICIES)


def write_modules(root: Path) -> None:
    for number, (_, *texts) in enumerate(pairs()):
        for side, text in zip(("earlier", "later"), texts, strict=True):
            file = root / side / f"p{number}" / "x.proto"
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
    for side in ("earlier", "later"):
        (root / side / "buf.yaml").write_text("version: v2\n", encoding="utf-8")


def asked(root: Path, policy: CompatibilityPolicy) -> list[Counter[str]]:
    """The rules that buf finds broken by each pair."""
    config = json.dumps({"version": "v2", "breaking": {"use": [policy.value]}})
    versions = ["--against-config", '{"version":"v2"}', "--error-format", "json"]
    command = [BUF, "breaking", root / "later", "--against", root / "earlier", "--config", config, *versions]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    found: list[Counter[str]] = [Counter() for _ in pairs()]
    for line in done.stdout.splitlines():
        said = json.loads(line)
        found[int(Path(said["path"]).parent.name.removeprefix("p"))][said["type"]] += 1
    return found


def test_the_files_of_references_are_compared_by_their_paths():
    from counterfoil.schema.model import Reference, ResolvedReference

    def schema(kind: str, package: str = "shared"):
        text = f'syntax = "proto3"; package {package}; message Item {{ {kind} n = 1; }}'
        reference = ResolvedReference(Reference("item.proto", "item", 1), text)
        return parse_protobuf('syntax = "proto3"; import "item.proto"; message Order { int32 id = 1; }', [reference])

    def rules(reader, writer, policy):
        return [each.rule for each in find_differences(reader, writer, policy=policy)]

    wire, wire_json = POLICIES
    assert rules(schema("int64"), schema("int32"), wire) == []
    assert rules(schema("int64"), schema("int32"), wire_json) == ["field-wire-json-compatible-type"]
    assert rules(schema("float"), schema("int32"), wire) == ["field-wire-compatible-type"]
    assert rules(schema("float", "other"), schema("int32"), wire) == ["file-same-package"]


BEFORE = """syntax = "proto3"; package p;
enum E { E0 = 0; E1 = 1; }
message N { int32 a = 1; }
message M { string a = 1; map<string, N> m = 2; oneof o { int32 x = 3; N y = 4; } E e = 5; reserved 90; }
service S { rpc Get(M) returns (N); }
"""
ADDED = {
    "a field": ("string a = 1;", "string a = 1; string b = 6;"),
    "a field inside": ("int32 a = 1;", "int32 a = 1; repeated M more = 2;"),
    "a field of a oneof": ("int32 x = 3;", "int32 x = 3; bytes z = 7;"),
    "a map": ("string a = 1;", "string a = 1; map<int32, E> es = 8;"),
    "a constant": ("E1 = 1;", "E1 = 1; E2 = 2;"),
    "an alias": ("E0 = 0;", "option allow_alias = true; E0 = 0; NONE = 0;"),
    "a number that is reserved": ("reserved 90;", "reserved 90, 91;"),
    "a name that is reserved": ("reserved 90;", 'reserved 90; reserved "zz";'),
    "a message": ("message N", "message P { int32 a = 1; } message N"),
    "an enum": ("message N", "enum F { F0 = 0; } message N"),
    "a method": ("rpc Get", "rpc Set(M) returns (N); rpc Get"),
}
TAKEN = {
    "a field": (BEFORE, ("string a = 1;", "")),
    "a constant": (BEFORE, (" E1 = 1;", "")),
    "a reserved number": (BEFORE, (" reserved 90;", "")),
}
REMOVALS = {
    *(f"{what}-no-delete-unless-{how}-reserved" for what in ("field", "enum-value") for how in ("number", "name")),
    *(f"reserved-{what}-no-delete" for what in ("message", "enum")),
    *(f"{what}-same-json-format" for what in ("message", "enum")),
}
LEVELS = [level for level in CompatibilityLevel if level is not CompatibilityLevel.NONE]


def verdicts(earlier: str, later: str, policy: CompatibilityPolicy) -> dict[CompatibilityLevel, bool]:
    before, after = Earlier(parse_protobuf(earlier), version=1), parse_protobuf(later)
    return {level: check_compatibility(after, [before], level, policy=policy).is_compatible for level in LEVELS}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("change", ADDED)
def test_what_is_added_breaks_nothing_at_any_level(policy: CompatibilityPolicy, change: str):
    """Buf permits it, and readers skip numbers that they do not know."""
    later = BEFORE.replace(*ADDED[change], 1)
    assert later != BEFORE
    assert all(verdicts(BEFORE, later, policy).values())


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("change", TAKEN)
def test_what_is_taken_away_breaks_where_earlier_records_are_read(policy: CompatibilityPolicy, change: str):
    earlier, replaced = TAKEN[change]
    found = verdicts(earlier, earlier.replace(*replaced, 1), policy)
    assert {level for level, fits in found.items() if not fits} == {level for level in LEVELS if "FORWARD" not in level}


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_read_differently_breaks_in_both_directions(policy: CompatibilityPolicy):
    assert not any(verdicts(BEFORE, BEFORE.replace("string a = 1;", "int32 a = 1;"), policy).values())


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_the_levels_of_generated_changes(policy: CompatibilityPolicy):
    """BACKWARD is the answer of buf; FORWARD leaves out what buf says of removals, and FULL is both."""
    for seed in range(SEEDS):
        texts = seeded_pair(seed, package="p")
        earlier, later = map(parse_protobuf, texts)
        found = verdicts(*texts, policy)
        assert found[CompatibilityLevel.BACKWARD] is (not find_differences(later, earlier, policy=policy))
        of_reading = {each.rule for each in find_differences(earlier, later, policy=policy)} - REMOVALS
        if not of_reading:
            assert found[CompatibilityLevel.FORWARD]
        elif of_reading != {"enum-value-same-name"}:  # of aliases, only the name that is written counts
            assert not found[CompatibilityLevel.FORWARD]
        both = found[CompatibilityLevel.BACKWARD] and found[CompatibilityLevel.FORWARD]
        assert found[CompatibilityLevel.FULL] is both
