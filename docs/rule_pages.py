"""The pages about compatibility rules: one for each rule, from the tables and from the examples under tests/rules/.

The findings, and the record that proves each, are computed while the page is written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier, Witness
from counterfoil.schema.judgement import check_compatibility, search_for_witness
from counterfoil.schema.languages.rules import RULE_BY_ID
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.inspection import RULE_EXAMPLE, RuleExample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.compatibility.findings import CompatibilityRule, Difference
    from counterfoil.schema.parsed import ParsedSchema

EXAMPLES = Path(__file__).parents[1] / "tests" / "rules"
TITLE_BY_TYPE = {
    SchemaType.AVRO: "Avro",
    SchemaType.PROTOBUF: "Protobuf",
    SchemaType.JSON: "JSON Schema",
    None: "Tables, for every language",
}
TYPE_BY_SUFFIX = {".avsc": SchemaType.AVRO, ".proto": SchemaType.PROTOBUF, ".json": SchemaType.JSON}
MAX_WITNESS = 400


def rule_pages() -> dict[str, str]:
    """Return the text of every page, by its name under ``docs/reference/``."""
    pages = {"rules.md": "\n".join(_index())}
    for rule in RULE_BY_ID.values():
        pages[rule.page] = "\n".join(_page(rule))
    pages["sound.md"] = "\n".join(_sound())
    return pages


def rule_examples() -> str:
    """Return the examples of all rules as JSON, which a registry shows."""
    found = {rule.id: RULE_EXAMPLE.write(_shown_example(rule)) for rule in RULE_BY_ID.values()}
    return json.dumps(found, indent=1, ensure_ascii=False)


def _shown_example(rule: CompatibilityRule) -> RuleExample:
    example = _example_of(rule)
    found: list[Difference] = []
    policy = next((policy for policy in CompatibilityPolicy if policy in rule.breaks), None)
    if policy is not None:
        found = [each for each in example.differences(policy) if each.rule == rule.id]
    if not found:
        return RuleExample(example.writer.text, example.reader.text, "Under no policy it counts; it is only reported")
    witness = search_for_witness(example.reader, example.writer, found[0])
    if not isinstance(witness, Witness):
        return RuleExample(example.writer.text, example.reader.text, found[0].text)
    return RuleExample(
        example.writer.text, example.reader.text, found[0].text, _cut(witness.datum_json), str(witness.step)
    )


def _cut(datum: str) -> str:
    return datum if len(datum) <= MAX_WITNESS else f"{datum[:MAX_WITNESS]}…"


@dataclass(frozen=True)
class _Example:
    """The two schemas of a rule's folder."""

    writer: ParsedSchema
    reader: ParsedSchema

    @property
    def fence(self) -> str:
        """The language of a code block with one of the schemas in it."""
        return "protobuf" if self.reader.schema_type is SchemaType.PROTOBUF else "json"

    def differences(self, policy: CompatibilityPolicy) -> list[Difference]:
        """Return the differences under a policy."""
        earlier = [Earlier(self.writer)]
        report = check_compatibility(self.reader, earlier, CompatibilityLevel.BACKWARD, policy=policy)
        return [each for failure in report.failures for each in failure.differences]


def _example_of(rule: CompatibilityRule) -> _Example:
    folder = EXAMPLES / rule.page.split("/")[1] / rule.id
    paths = [next(iter(folder.glob(f"{name}.*")), folder / name) for name in ("previous", "current")]
    return _Example(
        *(parse_schema(path.read_text(), TYPE_BY_SUFFIX[path.suffix], validation=Validation.LENIENT) for path in paths)
    )


def _index() -> Iterator[str]:
    yield from ("# Compatibility rules", "")
    yield "Each finding of `counterfoil check`, and each reason in a registry's 409 response, comes from one of these "
    "rules."
    yield 'The error type is the name that Confluent\'s clients read; "ours" marks a rule that Confluent does not '
    "have. The"
    yield "[policy](../policies.md) decides which rules break compatibility."
    for schema_type, title in TITLE_BY_TYPE.items():
        yield from ("", f"## {title}", "", "| rule | error type | breaks under |", "|---|---|---|")
        for rule in RULE_BY_ID.values():
            if rule.schema_type is schema_type:
                known = f"`{rule.error_type}`" if rule.error_type else "ours"
                yield f"| [{rule.id}]({rule.page}) | {known} | {_breaks(rule)} |"


def _breaks(rule: CompatibilityRule) -> str:
    if rule.breaks == frozenset(CompatibilityPolicy):
        return "every policy"
    if not rule.breaks:
        return "no policy: it is only reported"
    return ", ".join(policy for policy in CompatibilityPolicy if policy in rule.breaks)


def _page(rule: CompatibilityRule) -> Iterator[str]:
    known = f"`{rule.error_type}`" if rule.error_type else "none; Confluent does not have this rule"
    message = rule.sentence.replace("{", "*").replace("}", "*")
    yield from (f"# {rule.id}", "")
    yield f"{TITLE_BY_TYPE[rule.schema_type]}. Error type: {known}. It breaks compatibility under: {_breaks(rule)}."
    yield from ("", f"**Message.** “{message}.”", "")
    yield f"**{'Why it breaks' if rule.breaks else 'Why it does not break'}.** {rule.why}"
    if rule.fix:
        yield from ("", f"**How to fix it.** {rule.fix}")
    example = _example_of(rule)
    yield from ("", "## Example", "", "The writer's schema, the earlier version:", "")
    yield from (
        f"```{example.fence}",
        example.writer.text.rstrip(),
        "```",
        "",
        "The reader's schema, the new version:",
        "",
    )
    yield from (f"```{example.fence}", example.reader.text.rstrip(), "```")
    policy = next((policy for policy in CompatibilityPolicy if policy in rule.breaks), None)
    if policy is not None:
        yield from ("", f"Under {policy}:", "")
        yield from _findings(example, example.differences(policy))


def _findings(example: _Example, differences: list[Difference]) -> Iterator[str]:
    """Yield each finding with its place and the record that proves it."""
    for difference in differences:
        position = example.reader.locate(difference.reader_pointer)
        path = f"`{difference.path}`" if difference.path else "no path"
        where = f"{path}, line {position.line} of the reader's schema" if position else path
        yield f"- {difference.text} ({where})"
        witness = search_for_witness(example.reader, example.writer, difference)
        if not isinstance(witness, Witness):
            yield f"  - {witness}"
            continue
        yield f"  - `{_cut(witness.datum_json)}` is written, and is not read as it was written: {witness.step}"


def _sound() -> Iterator[str]:
    """Yield the examples for which SOUND and STRICT differ, each with its proof."""
    yield from ("# Where SOUND differs from STRICT", "")
    yield "STRICT gives the same verdicts as Confluent. SOUND gives another verdict on these examples. Each has its "
    "reason:"
    yield "a record that is written with one schema and is unreadable or misread with the other, or a finding that "
    "SOUND"
    yield "removes because no value breaks it."
    for rule in RULE_BY_ID.values():
        example = _example_of(rule)
        strict, sound = (
            example.differences(policy) for policy in (CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND)
        )
        kept = {(each.rule, each.path) for each in strict} & {(each.rule, each.path) for each in sound}
        gone = [each for each in strict if (each.rule, each.path) not in kept]
        added = [each for each in sound if (each.rule, each.path) not in kept]
        if gone or added:
            title = TITLE_BY_TYPE[example.reader.schema_type]
            yield from ("", f"## The example of {rule.id}", "")
            yield f"{title}; the two schemas are on [its page]({rule.page})."
            yield from ("", *(f"- removed: {each.text} (`{each.path}`)" for each in gone))
            yield from _findings(example, added)
