"""Answers about schemas as plain values, for other processes: about one schema, and whether it may follow others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.compatibility.findings import (
    CompatibilityReport,
    Difference,
    Earlier,
    Failure,
    Identity,
    SideNames,
    Witness,
    identity_of,
    without_message,
)
from counterfoil.schema.errors import JudgementUndecided
from counterfoil.schema.judgement import Budget, Judgement, judge
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import FieldPath
from counterfoil.schema.tags import unencryptable_tags, unnamed_paths_of, unreached_tags

# Answers about one schema as plain values: another process parses the schema, and returns the answer alone.


@dataclass(frozen=True, slots=True)
class SchemaSummary:
    """What is needed of each schema that is read: its canonical text, its name, the names of its top-level fields."""

    canonical: str
    name: str | None
    field_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedWarning:
    """A violation of the language's specification: its rule, a sentence, and where it is in the text, in words."""

    rule: str
    text: str
    place: str


def summary_of(schema: ParsedSchema) -> SchemaSummary:
    """Return the summary of a schema; raise ``InvalidSchema`` if it cannot be printed."""
    return SchemaSummary(schema.canonical(), schema.name, tuple(schema.field_names()))


def normalized_text(schema: ParsedSchema) -> str:
    """Return the canonical text with a fixed order of elements whose order has no meaning."""
    return schema.normalized()


def formatted_text(schema: ParsedSchema, form: str) -> str | None:
    """Return the text in another form of its language; None for an unknown form."""
    return schema.formatted(form)


def are_equivalent(first: ParsedSchema, second: ParsedSchema) -> bool:
    """Return whether two schemas are equal except for the order of attributes."""
    return first.is_equivalent(second)


def placed_warnings(schema: ParsedSchema) -> tuple[PlacedWarning, ...]:
    """Return the violations of the language's specification that the reference registry accepts."""
    return tuple(
        PlacedWarning(each.rule, each.text, str(schema.locate(each.pointer) or "in a reference"))
        for each in schema.warnings()
    )


@dataclass(frozen=True, slots=True)
class TagsAsked:
    """Tags of a schema: ``by_path`` those of its metadata, ``of_rules`` those that its rules name.

    ``encrypted`` are the tags of its rules ENCRYPT. At most ``most`` findings of each kind are wanted.
    """

    by_path: Mapping[str, Sequence[str]]
    of_rules: frozenset[str]
    encrypted: frozenset[str]
    most: int


def tags_without_effect(schema: ParsedSchema, asked: TagsAsked) -> dict[str, tuple[str, ...]]:
    """Return what is wrong with tags: by a kind of finding in words, its cause at each place."""
    by_path, most = asked.by_path, asked.most
    unreached = unreached_tags(schema, by_path) if asked.of_rules else []
    unfit = unencryptable_tags(schema, by_path) if asked.encrypted else []
    missed = [each.text for each in unreached if asked.of_rules.intersection(each.tags)]
    plain = [each.text for each in unfit if asked.encrypted.intersection(each.tags)]
    return {
        "a tag marks what no rule changes": tuple(missed[:most]),
        "a tag marks what cannot be encrypted": tuple(plain[:most]),
        "a path of tags names nothing": tuple(each.text for each in unnamed_paths_of(schema, by_path, most=most)),
    }


# A report as the list of messages that Confluent's clients parse, with sentences of this project.
#
# Source: the responses of Confluent Schema Registry 8.5 to ``POST /compatibility/…?verbose=true``: one text for each
# difference, with ``errorType`` and ``path`` in the form that clients parse, then the earlier version and its text.

OLD_SCHEMA_LIMIT: Final = 10 * 1024
"""The largest number of characters of an earlier schema's text in a message."""

MAX_MESSAGES: Final = 100
"""The largest number of messages about differences."""

MAX_MESSAGE_BYTES: Final = 200 * 1024
"""The largest size of all messages about differences, in bytes of UTF-8; with the others an answer has 256 kB."""

_NEW, _OLD = ("the new schema", "the new schema's"), ("the old schema", "the old schema's")
SIDE_NAMES_BY_DIRECTION: Final = {
    Direction.BACKWARD: SideNames(_NEW[0], _OLD[0], _NEW[1], _OLD[1]),
    Direction.FORWARD: SideNames(_OLD[0], _NEW[0], _OLD[1], _NEW[1]),
}
"""The names of the two sides in messages to Confluent's clients."""


def confluent_messages(
    report: CompatibilityReport, *, witnesses: Mapping[Difference, Witness] | None = None
) -> list[str]:
    """Return the messages of ``report``, empty if it is compatible; without the last line, which names the level.

    Differences of the direction in which the earlier schema reads come first; after those of the last checked direction
    come ``oldSchemaVersion`` (if the earlier schema has a number) and ``oldSchema``, its canonical text, cut at 10 KiB.
    These lines are missing if both directions were checked and only the earlier schema fails to read, and after the one
    sentence about another schema type. The description of a difference with a witness in ``witnesses`` contains the
    record that breaks the reader.

    There are at most ``MAX_MESSAGES`` about differences, of at most ``MAX_MESSAGE_BYTES`` together; one that says how
    many are left out follows them.
    """
    known = witnesses or {}
    messages: list[str] = []
    size = 0
    found = [(failure, difference) for failure in report.failures for difference in failure.differences]
    for failure, difference in found[:MAX_MESSAGES]:
        message = _difference_message(difference, failure, known.get(difference) if known else None)
        size += len(message.encode(errors="replace"))
        if size > MAX_MESSAGE_BYTES:
            break
        messages.append(message)
    if len(messages) < len(found):
        left_out = len(found) - len(messages)
        messages.append(f"and {left_out} more {'differences' if left_out > 1 else 'difference'}, left out of this list")
    return messages + _earlier_messages(report)


def _earlier_messages(report: CompatibilityReport) -> list[str]:
    last = report.failures[-1] if report.failures else None
    if last is None or last.direction is not report.level.directions[-1] or _is_of_another_type(last):
        return []
    version = last.earlier.version
    numbered = [] if version is None else [f"{{oldSchemaVersion: {version}}}"]
    return [*numbered, f"{{oldSchema: '{_cut(last.earlier.schema.canonical())}'}}"]


def _is_of_another_type(failure: Failure) -> bool:
    return failure.reader.schema_type is not failure.writer.schema_type


def _difference_message(difference: Difference, failure: Failure, witness: Witness | None) -> str:
    sentence = difference.sentence.render(SIDE_NAMES_BY_DIRECTION[failure.direction])
    path, error_type = difference.path, difference.error_type
    if path:
        sentence += f" (path '{path}')"
    if witness:
        sentence += f"; for example this record: {witness.datum_json}"
    if not error_type:
        return sentence
    return f"{{errorType:'{error_type}', description:'{sentence}', additionalInfo:'{difference.detail}'}}"


def _cut(text: str) -> str:
    return text if len(text) <= OLD_SCHEMA_LIMIT else f"{text[:OLD_SCHEMA_LIMIT]}..."


# The answer to whether a schema may follow others, as plain values, which can cross from one process to another.


@dataclass(frozen=True, slots=True)
class CompatibilityQuestion:
    """Whether ``candidate`` may follow ``history``, which begins with the newest version."""

    candidate: ParsedSchema
    history: Sequence[Earlier]
    level: CompatibilityLevel
    policy: CompatibilityPolicy


class FoundDifference(NamedTuple):
    """A difference from the earlier version with the number ``version``, without the two schemas.

    ``path`` names it, without the name of the message with which the paths of Protobuf begin. There may be thousands,
    which cross from one process to another.
    """

    rule: str
    text: str
    path: FieldPath
    direction: Direction
    version: int | None
    identity: Identity


@dataclass(frozen=True, slots=True)
class CompatibilityAnswer:
    """The answer to a question: compatible, or the differences, and the messages for Confluent's clients.

    Only :func:`answer` lists the differences.
    """

    differences: tuple[FoundDifference, ...] = ()
    messages: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_compatible(self) -> bool:
        """Whether nothing was found."""
        return not self.messages


COMPATIBLE = CompatibilityAnswer()
"""The answer that nothing was found."""


def answer(question: CompatibilityQuestion, budget: Budget) -> CompatibilityAnswer:
    """Return the whole answer, with witnesses in its messages; raise ``JudgementUndecided``, ``InvalidSchema``."""
    judgement = judged(question, budget)
    if judgement.report.is_compatible:
        return COMPATIBLE
    return CompatibilityAnswer(differences_in(judgement), messages_about(judgement))


def messages_only(question: CompatibilityQuestion, budget: Budget) -> CompatibilityAnswer:
    """Return the answer without the differences, which many requests do not need."""
    judgement = judged(question, budget)
    return COMPATIBLE if judgement.report.is_compatible else CompatibilityAnswer(messages=messages_about(judgement))


def judged(question: CompatibilityQuestion, budget: Budget) -> Judgement:
    """Return the judgement of a question."""
    return judge(question.candidate, question.history, question.level, policy=question.policy, budget=budget)


def differences_in(judgement: Judgement) -> tuple[FoundDifference, ...]:
    """Return the differences of a judgement as plain values."""
    return tuple(
        FoundDifference(
            each.difference.rule,
            each.difference.text,
            without_message(each.difference.element, each.failure.reader),
            each.failure.direction,
            each.failure.earlier.version,
            identity_of(each.difference),
        )
        for each in judgement.incompatibilities
    )


def messages_about(judgement: Judgement, *, is_whole: bool = False) -> tuple[str, ...]:
    """Return the messages of a judgement, with witnesses.

    With ``is_whole``, ``JudgementUndecided`` is raised if a search ended by its limits: one with more steps may find
    a witness.
    """
    found, ended = judgement.search()
    if is_whole and ended:
        raise JudgementUndecided("A search for a record that proves a difference needs more steps")
    return tuple(confluent_messages(judgement.report, witnesses=found))
