"""The rules of ``counterfoil lint`` as a table, and the findings of one file with their repairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from counterfoil.contracts.findings import Finding, FindingNumbers, fingerprint
from counterfoil.schema.documents import Repair
from counterfoil.schema.reports import Severity
from counterfoil.schema.texts import Position

# The rules of ``counterfoil lint``, as a table.


@dataclass(frozen=True, slots=True)
class LintRule:
    """A rule: its id, how severe its findings are, ``why`` it exists and how to ``fix`` a finding.

    ``repaired`` says which findings ``--fix`` repairs, and how; empty if none.
    """

    id: str
    severity: Severity
    why: str
    fix: str = ""
    repaired: str = ""


LINT_RULES: Final = (
    LintRule(
        "document-invalid",
        Severity.ERROR,
        "The file is not valid under its standard (ODCS, ODPS) or not YAML, so that no tool reads it.",
        "Correct the file at the place that is named.",
        "a number where the standard wants a text is put in quotes; a key, a listed word, `kind` or `apiVersion` that "
        "is one of the standard's but for letter case, hyphens and underscores (or the `v` of a version) is spelled as "
        "there",
    ),
    LintRule(
        "property-invalid",
        Severity.ERROR,
        "A custom property of this project has a value that it cannot have, so that it would have no effect.",
        "Correct the value; the properties are listed in https://github.com/counterfoil/counterfoil/blob/main/docs/contracts-reference.md",
        "a key or a listed word in other letter case, or with hyphens or underscores, is spelled as expected",
    ),
    LintRule(
        "project-invalid",
        Severity.ERROR,
        "The project file cannot be read, so that no command knows which file belongs to which subject.",
        "Correct the file at the place that is named.",
        "a key or a listed word in other letter case, or with hyphens or underscores, is spelled as expected",
    ),
    LintRule(
        "project-line-unused",
        Severity.WARNING,
        "An entry of the project file matches no file, so that it has no effect.",
        "Correct the glob, or remove the entry.",
    ),
    LintRule(
        "schema-file-missing",
        Severity.ERROR,
        "The contract refers to a schema file that does not exist, so that nothing ties it to its records.",
        "Correct the path, which is relative to the contract's folder.",
    ),
    LintRule(
        "schema-invalid",
        Severity.ERROR,
        "The file is not a valid schema, so that no registry accepts it.",
        "Correct the text at the place that is named.",
    ),
    LintRule(
        "path-missing",
        Severity.ERROR,
        "A field that the file names is not in the schema, so that the statements about it have no effect.",
        "Correct the path, or add the field to the schema.",
    ),
    LintRule(
        "type-differs",
        Severity.ERROR,
        "The logical type of a field is not the one that the schema file gives it.",
        "Correct the logical type, or the schema.",
    ),
    LintRule(
        "promise-unkept",
        Severity.ERROR,
        "The contract promises that a field is always there, while the schema allows records without it.",
        "Remove the promise, or make the field required in the schema.",
    ),
    LintRule(
        "unit-unknown",
        Severity.ERROR,
        "A unit is neither a UCUM code nor a currency, so that nobody can compare it with another one.",
        "Write a UCUM code such as ms, or an ISO 4217 currency such as EUR or EUR.cent.",
        "a currency in other letter case, such as `eur.cent`; the letter case of UCUM codes has a meaning, so that no "
        "other unit is repaired",
    ),
    LintRule(
        "cel-invalid",
        Severity.ERROR,
        "A quality rule is not valid CEL, so that it would never run.",
        "Correct the expression.",
    ),
    LintRule(
        "cel-unchecked",
        Severity.WARNING,
        "No engine for CEL is installed here, so that quality rules in CEL were not compiled.",
        "Install the extra: pip install 'counterfoil[rules]'.",
    ),
    LintRule(
        "converter-missing",
        Severity.ERROR,
        "A migration refers to the file of a converter that does not exist.",
        "Correct the path, which is relative to the contract's folder.",
    ),
    LintRule(
        "converter-invalid",
        Severity.ERROR,
        "A migration refers to a file that is no valid bridge file.",
        "Correct that file at the place that is named.",
    ),
    LintRule(
        "migration-version-unknown",
        Severity.ERROR,
        "A migration leads from or to a major version that the contract has not reached, or from one to itself, so "
        "that it permits nothing.",
        "Name the major version before the break and the one after it, such as from: '1' and to: '2'.",
    ),
    LintRule(
        "sunset-passed",
        Severity.WARNING,
        "The day on which a migration was to end has passed.",
        "Retire the old version, or agree on a later day.",
    ),
    LintRule(
        "id-taken",
        Severity.ERROR,
        "Two files declare the same id and version, so that nobody knows which of them counts.",
        "Change the id or the version in one of them.",
    ),
    LintRule(
        "contract-unknown",
        Severity.NOTICE,
        "No file here is the contract that a consumer reads, so that its reads could not be compared with a schema.",
    ),
    LintRule(
        "contract-version-differs",
        Severity.WARNING,
        "The consumer reads another major version than the contract file here has.",
        "Correct the version of the input port, or follow the new version.",
    ),
    LintRule(
        "owner-missing",
        Severity.WARNING,
        "Nobody is named as the owner, so that it is unclear who decides when a change breaks a consumer.",
        "Name the team: team: {name: ...}.",
    ),
    LintRule(
        "version-not-semantic",
        Severity.WARNING,
        "The version is not of the form major.minor.patch, and consumers refer to the major version.",
        "Write a version such as 2.1.0.",
        "a version of one or two numbers gets the others, which are 0: `2.1` becomes `2.1.0`",
    ),
    LintRule(
        "pii-unclassified",
        Severity.WARNING,
        "A field is tagged as personal data and has no classification.",
        "Add classification, such as confidential.",
    ),
    LintRule(
        "tag-not-reached",
        Severity.WARNING,
        "A tag in a schema marks values that field rules of Confluent's clients do not reach, such as those inside a "
        "tagged record: a rule ENCRYPT with this tag is refused.",
        "Move the tag beside a string or bytes field; the places are listed in "
        "https://github.com/counterfoil/counterfoil/blob/main/docs/encryption-reference.md",
    ),
    LintRule(
        "tag-not-encryptable",
        Severity.NOTICE,
        "A tag in a schema marks values that no rule ENCRYPT can encrypt: numbers, enums, values of a logical type, "
        "and texts of a JSON schema that accepts no ciphertext, because of maxLength or pattern. A rule ENCRYPT with "
        "this tag is refused.",
        "Give the field a type or limits that accept base64 of at least 24 characters, or use another tag than those "
        "of rules ENCRYPT.",
    ),
    LintRule(
        "tag-path-unknown",
        Severity.WARNING,
        "A path of the metadata that a project declares names no field of the schema, so that its tags mark nothing, "
        "and what they should mark is not encrypted.",
        "Write the full name of the field, such as shop.Order.email, or $.email in JSON Schema.",
    ),
)
LINT_RULE_BY_ID: Final[Mapping[str, LintRule]] = {rule.id: rule for rule in LINT_RULES}


# The findings of one file while it is checked, and their repairs.


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair of a finding of ``rule`` in the file at ``path``."""

    rule: str
    path: str
    repair: Repair

    def __str__(self) -> str:
        if not self.repair.after:
            return "removed"
        return f"{self.repair.before} → {self.repair.after}"


class FileFindings:
    """The findings about the file at ``path``; ``subject`` is an id, a subject, or the path."""

    def __init__(self, path: str, subject: str = "") -> None:
        self.path = path
        self.subject = subject or path
        self.found: list[Finding] = []
        self._numbers = FindingNumbers()

    def add(
        self,
        rule: str,
        text: str,
        position: Position | None,
        *,
        element: str = "",
        facts: tuple[str, ...] = (),
        severity: Severity | None = None,
        fix: str | None = None,
        repair: Repair | None = None,
    ) -> None:
        """Add a finding; severity and advice are those of the rule unless they are given.

        ``facts`` tell it from others of the same rule about the same element: names and values, never sentences.
        """
        known = LINT_RULE_BY_ID.get(rule)
        number = self._numbers.next(rule, self.subject, element, facts)
        self.found.append(
            Finding(
                rule=rule,
                severity=severity or LINT_RULE_BY_ID[rule].severity,
                subject=self.subject,
                path=self.path,
                text=text,
                fingerprint=fingerprint(rule, self.subject, element, facts, *number),
                former_fingerprints=(fingerprint(rule, self.subject, element, text),),
                position=position,
                element=element,
                advice=(known.fix if known else "") if fix is None else fix,
                repair=repair,
            )
        )
