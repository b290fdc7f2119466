"""One folder a rule, readable by people: the schema before, the schema after, and what is found with the two.

``expected.json`` holds the findings of the new schema reading what the old one wrote under STRICT, and those of another
policy only where they differ from these. Beside them, ``differences`` are all that the walk finds, harmless ones too
(JSON Schema), and ``told`` the harmless ones alone, where the folder's own rule is one of them (Protobuf).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.compatibility.policies import CompatibilityPolicy, steps_for
from counterfoil.schema.compatibility.rules import NEVER
from counterfoil.schema.judgement import search_for_witness
from counterfoil.schema.languages.avro.compare import differences as avro_differences
from counterfoil.schema.languages.avro.compare.rules import RULES as AVRO_RULES
from counterfoil.schema.languages.jsonschema.compare import differences as json_differences
from counterfoil.schema.languages.jsonschema.compare.rules import RULES as JSON_RULES
from counterfoil.schema.languages.protobuf.compare import differences as protobuf_differences
from counterfoil.schema.languages.protobuf.compare.rules import RULES as PROTOBUF_RULES
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.witness import Witness
from strategies.cases.each_case import check_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.compatibility.rules import CompatibilityRule

FOLDERS = Path(__file__).parents[3] / "rules"
PLACEHOLDER = re.compile(r"\{[a-z_]+\}")


@dataclass(frozen=True)
class Language:
    """One schema language: its folders, its rules, and what compares two of its schemas."""

    schema_type: SchemaType
    name: str
    suffix: str
    rules: Sequence[CompatibilityRule]
    walk: Callable[[Any, Any], Iterable[Any]]

    @property
    def folders(self) -> list[RuleFolder]:
        """The folders of the language, by name."""
        return [RuleFolder(self, path) for path in sorted((FOLDERS / self.name).iterdir()) if path.is_dir()]


class RuleFolder:
    """The folder of one rule, read."""

    def __init__(self, language: Language, path: Path) -> None:
        self.name = path.name
        self.language = language
        self.expected: dict[str, list[dict[str, str]]] = json.loads((path / "expected.json").read_text("utf-8"))
        parse = language_for(language.schema_type).parse
        texts = ((path / f"{side}.{language.suffix}").read_text("utf-8") for side in ("current", "previous"))
        self.reader, self.writer = (parse(text, (), validation=Validation.LENIENT) for text in texts)

    def found(self, policy: CompatibilityPolicy) -> Sequence[Difference]:
        """What stands between the two schemas under a policy."""
        return language_for(self.language.schema_type).find_differences(self.reader, self.writer, policy=policy)

    @property
    def all_found(self) -> list[Difference]:
        """What stands between the two schemas, under each policy in turn, each difference once."""
        return list(dict.fromkeys(each for policy in CompatibilityPolicy for each in self.found(policy)))

    @property
    def expected_rules(self) -> set[str]:
        """The rules of everything that is expected."""
        return {each["rule"] for findings in self.expected.values() for each in findings}


def rows(differences: Iterable[Difference]) -> list[dict[str, str]]:
    return [{"rule": each.rule, "error_type": each.error_type, "path": each.path} for each in differences]


AVRO = Language(
    SchemaType.AVRO,
    "avro",
    "avsc",
    AVRO_RULES,
    lambda reader, writer: avro_differences.walk(reader.root, writer.root, steps_for(reader, writer)),
)
PROTOBUF = Language(SchemaType.PROTOBUF, "protobuf", "proto", PROTOBUF_RULES, protobuf_differences.walk)
JSON = Language(SchemaType.JSON, "json", "json", JSON_RULES, json_differences.walk)


@pytest.fixture(params=[AVRO, PROTOBUF, JSON], ids=lambda language: language.name)
def language(request: pytest.FixtureRequest) -> Language:
    found: Language = request.param
    return found


@pytest.fixture
def each_folder(language: Language) -> Callable[[Callable[[RuleFolder], None]], None]:
    """A function that runs a check over every folder of the language."""
    return lambda check: check_each(((folder.name, folder) for folder in language.folders), check)


def test_each_rule_has_a_folder_and_each_folder_a_rule(language):
    assert [folder.name for folder in language.folders] == sorted(rule.id for rule in language.rules)


@pytest.mark.slow
def test_the_findings_are_those_that_the_folder_says(each_folder):
    def check(folder: RuleFolder) -> None:
        expected = {policy: folder.expected.get(policy, folder.expected["STRICT"]) for policy in CompatibilityPolicy}
        assert {policy: rows(folder.found(policy)) for policy in CompatibilityPolicy} == expected

    each_folder(check)


def test_the_walk_finds_what_the_folder_says(language, each_folder):
    def check(folder: RuleFolder) -> None:
        found = list(language.walk(folder.reader, folder.writer))
        if "differences" in folder.expected:
            assert rows(found) == folder.expected["differences"]
        if "told" in folder.expected:
            harmless = [each for each in found if each.kind.breaks == NEVER]
            assert rows(harmless) == folder.expected["told"]

    each_folder(check)


@pytest.mark.slow
def test_the_folder_shows_its_rule(language, each_folder):
    """Among the findings of the policies under which it breaks; a rule that breaks nobody among the walk's."""
    breaks = {rule.id: rule.breaks for rule in language.rules}

    def check(folder: RuleFolder) -> None:
        assert folder.name in folder.expected_rules
        shows = {
            policy for policy in CompatibilityPolicy if folder.name in {each.rule for each in folder.found(policy)}
        }
        assert shows == breaks[folder.name]

    each_folder(check)


def test_a_folder_of_avro_shows_no_other_rule():
    """A reader of the page should see one thing happen."""
    check_each(((folder.name, folder) for folder in AVRO.folders), only_its_own_rule)


def only_its_own_rule(folder: RuleFolder) -> None:
    assert folder.expected_rules == {folder.name}


@pytest.mark.slow
def test_a_rule_that_promises_a_witness_has_one_here(language, each_folder):
    """In a folder of Protobuf for its own rule alone: what else it shows may need another pair for a witness."""
    promising = {rule.id for rule in language.rules if rule.promises_witness}

    def check(folder: RuleFolder) -> None:
        for difference in folder.all_found:
            is_own = difference.rule == folder.name or language is not PROTOBUF
            if is_own and difference.rule in promising:
                assert isinstance(search_for_witness(folder.reader, folder.writer, difference), Witness), difference

    each_folder(check)


@pytest.mark.slow
def test_a_finding_has_no_placeholder_left_and_a_place_in_both_texts(each_folder):
    def check(folder: RuleFolder) -> None:
        for difference in folder.all_found:
            assert not PLACEHOLDER.search(difference.text)
            assert difference.detail or folder.language is JSON
            assert folder.reader.locate(difference.reader_pointer)
            assert folder.writer.locate(difference.writer_pointer)

    each_folder(check)


def test_a_rule_of_json_is_written_for_people():
    for rule in JSON_RULES:
        assert rule.sentence.startswith("The reader"), rule.id
        assert rule.why.endswith("."), rule.id
        assert rule.fix.endswith("."), rule.id
        assert rule.error_type in {"", rule.id.upper().replace("-", "_")}, rule.id


def test_the_rules_of_json_are_many_and_none_stands_twice():
    assert len(JSON_RULES) == len({rule.id for rule in JSON_RULES}) == 142
