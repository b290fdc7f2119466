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

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.protobuf.parse import parse_protobuf
from counterfoil.schema.formats.protobuf.policies import find_differences
from protobuf_pairs import SCALARS, seeded_pair

BUF = Path(sys.executable).parent / "buf"
BY_HAND = Path(__file__).parents[2] / "data" / "protobuf" / "wire_pairs.jsonl"
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
