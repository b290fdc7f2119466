"""The pages about compatibility rules: one for each rule, from the tables and from the examples under tests/rules/.

The findings and the record that proves each are worked out while the page is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.formats.rules import RULE_BY_ID
from counterfoil.schema.judgement.check import check_compatibility
from counterfoil.schema.judgement.witnesses import search_for_witness
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.parsed import ParsedSchema

EXAMPLES = Path(__file__).parents[1] / "tests" / "rules"
TITLE_BY_TYPE = {
    SchemaType.AVRO: "Avro",
    SchemaType.PROTOBUF: "Protobuf",
    SchemaType.JSON: "JSON Schema",
    None: "Tables, whatever the language",
}
TYPE_BY_SUFFIX = {".avsc": SchemaType.AVRO, ".proto": SchemaType.PROTOBUF, ".json": SchemaType.JSON}
MAX_WITNESS = 400


def rule_pages() -> dict[str, str]:
    """The text of every page, by its name under ``docs/reference/``."""
    pages = {"rules.md": "\n".join(_index())}
    for rule in RULE_BY_ID.values():
        pages[_page_name(rule)] = "\n".join(_page(rule))
    pages["sound.md"] = "\n".join(_sound())
    return pages


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
        """What is found under a policy."""
        earlier = [Earlier(self.writer)]
        report = check_compatibility(self.reader, earlier, CompatibilityLevel.BACKWARD, policy=policy)
        return [each for failure in report.failures for each in failure.differences]


def _example_of(rule: CompatibilityRule) -> _Example:
    folder = EXAMPLES / _folder(rule) / rule.id
    paths = [next(iter(folder.glob(f"{name}.*")), folder / name) for name in ("previous", "current")]
    return _Example(
        *(parse_schema(path.read_text(), TYPE_BY_SUFFIX[path.suffix], validation=Validation.LENIENT) for path in paths)
    )


def _folder(rule: CompatibilityRule) -> str:
    return rule.schema_type.value.lower() if rule.schema_type else "logical"


def _page_name(rule: CompatibilityRule) -> str:
    return f"rules/{_folder(rule)}/{rule.id}.md"


def _index() -> Iterator[str]:
    yield from ("# Compatibility rules", "")
    yield "Each finding of `counterfoil check`, and each reason in a registry's 409, comes from one of these rules. The"
    yield "error type is the word that Confluent's clients know; a rule without one is ours. What breaks depends on the"
    yield "[policy](../policies.md)."
    for schema_type, title in TITLE_BY_TYPE.items():
        yield from ("", f"## {title}", "", "| rule | error type | breaks under |", "|---|---|---|")
        for rule in RULE_BY_ID.values():
            if rule.schema_type is schema_type:
                known = f"`{rule.error_type}`" if rule.error_type else "ours"
                yield f"| [{rule.id}]({_page_name(rule)}) | {known} | {_breaks(rule)} |"


def _breaks(rule: CompatibilityRule) -> str:
    if rule.breaks == frozenset(CompatibilityPolicy):
        return "every policy"
    if not rule.breaks:
        return "no policy: it is told, and harms nobody"
    return ", ".join(policy for policy in CompatibilityPolicy if policy in rule.breaks)


def _page(rule: CompatibilityRule) -> Iterator[str]:
    known = f"`{rule.error_type}`" if rule.error_type else "none; this rule is ours"
    said = rule.sentence.replace("{", "*").replace("}", "*")
    yield from (f"# {rule.id}", "")
    yield f"{TITLE_BY_TYPE[rule.schema_type]}. Error type: {known}. It breaks under: {_breaks(rule)}."
    yield from ("", f"It says: “{said}.”", "")
    yield f"**{'Why it breaks' if rule.breaks else 'Why it breaks nothing'}.** {rule.why}"
    if rule.mend:
        yield from ("", f"**How to mend it.** {rule.mend}")
    example = _example_of(rule)
    yield from ("", "## Example", "", "The writer's schema, the earlier version:", "")
    yield from (f"```{example.fence}", example.writer.text.rstrip(), "```", "", "The reader's, the new one:", "")
    yield from (f"```{example.fence}", example.reader.text.rstrip(), "```")
    policy = next((policy for policy in CompatibilityPolicy if policy in rule.breaks), None)
    if policy is not None:
        yield from ("", f"Under {policy}:", "")
        yield from _findings(example, example.differences(policy))


def _findings(example: _Example, differences: list[Difference]) -> Iterator[str]:
    """Each finding, where it is, and the record that proves it."""
    for difference in differences:
        position = example.reader.locate(difference.reader_pointer)
        path = f"`{difference.path}`" if difference.path else "no path"
        where = f"{path}, line {position.line} of the reader's schema" if position else path
        yield f"- {difference.text} ({where})"
        witness = search_for_witness(example.reader, example.writer, difference)
        if not isinstance(witness, Witness):
            yield f"  - {witness}"
            continue
        datum = witness.datum_json
        shown = datum if len(datum) <= MAX_WITNESS else f"{datum[:MAX_WITNESS]}…"
        yield f"  - `{shown}` is written and not read as it was written: {witness.step}"


def _sound() -> Iterator[str]:
    """Where SOUND and STRICT differ, each with what proves it."""
    yield from ("# Where SOUND differs from STRICT", "")
    yield "STRICT answers as Confluent does. SOUND gives another answer to these examples. Beside each is why: a record"
    yield "that is written under the one schema and unreadable or misread under the other; or the finding that goes,"
    yield "since no value breaks it."
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
            yield f"{title}; the two schemas are on [its page]({_page_name(rule)})."
            yield from ("", *(f"- gone: {each.text} (`{each.path}`)" for each in gone))
            yield from _findings(example, added)
