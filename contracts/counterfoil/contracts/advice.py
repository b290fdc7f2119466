"""The rules about schema files, the advice about a finding of any rule, and the names of the two sides in reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from counterfoil.schema.compatibility import Direction
from counterfoil.schema.compatibility.findings import SCHEMA_UNDECIDED, SideNames

# The names of the two sides of a comparison in reports, by the direction in which records are read.

SIDE_NAMES_BY_DIRECTION: Final = {
    Direction.BACKWARD: SideNames("this schema", "the earlier one", "this schema's", "the earlier schema's"),
    Direction.FORWARD: SideNames("the earlier schema", "this one", "the earlier schema's", "this schema's"),
}


# The rules about schema files, and the advice about a finding of any rule.
#
# The compatibility rules with their advice are in :mod:`counterfoil.schema.languages.rules`.


@dataclass(frozen=True, slots=True)
class FileRule:
    """A rule about a schema file: its ``id``, ``why`` it matters and how to ``fix`` a finding (may be empty)."""

    id: str
    why: str
    fix: str = ""


UNDECIDED: Final = SCHEMA_UNDECIDED
"""The rule of a comparison that did not end within its limits: neither compatible nor broken."""

FILE_RULE_BY_ID: Final[Mapping[str, FileRule]] = {
    rule.id: rule
    for rule in (
        FileRule(
            "schema-invalid",
            "The file is not a valid schema, so no registry accepts it. It is an error when the change made it so, "
            "and a "
            "warning when it was invalid before.",
            "Correct the text at the place that is named.",
        ),
        FileRule(
            "schema-removed",
            "A schema of the baseline is no longer there under any file name. Records written with it remain.",
            "If the topic is retired, nothing needs to be done; otherwise restore the file.",
        ),
        FileRule("schema-new", "There is no earlier version, so there is nothing that could break."),
        FileRule(
            "baseline-invalid",
            "An earlier version is not a valid schema, so this file cannot be compared with it, and does not count as "
            "checked unless another earlier version could be read.",
            "Compare with a commit or version that is valid: --against REF.",
        ),
        FileRule(
            UNDECIDED,
            "Whether the schema is compatible cannot be decided within the limits of a comparison, since too many of "
            "its parts would have to be compared with each other. It is not called compatible: the exit code is 4.",
            "Take alternatives, or references that are used many times, out of the schema, or divide it.",
        ),
        FileRule(
            "byte-order-mark",
            "JSON text must not start with a byte order mark (RFC 8259, section 8.1), and some readers refuse it.",
            "Save the file as UTF-8 without a byte order mark.",
        ),
        FileRule(
            "compatible-yet-unread",
            "The rules of the policy call the two schemas compatible, and yet a record that one of them writes is not "
            "read with the other, or is read as another value. Under SOUND this is an error.",
            "See whether such records exist. --policy SOUND refuses the change.",
        ),
        FileRule(
            "unread-in-topic",
            "The sketch of the topic has records of a schema that the check did not compare, and some of them may not "
            "be read with this one. With --ignore-untriggered it is an error.",
            "Compare with that version too, as under a transitive level, or convert these records first.",
        ),
        FileRule(
            "missing-import",
            "The file imports a file that does not exist. The types which that file declares are left out of the "
            "comparison, and a compiler will require them.",
            "Add the file, or correct the path of the import.",
        ),
        FileRule(
            "subject-taken",
            "Several files have the same subject, so that each of them would be a version after the other, and nothing "
            "says which of them is the latest.",
            "Give each file a subject of its own in counterfoil.yaml, or remove all files but one.",
        ),
        FileRule(
            "reference-unmapped",
            "The file refers to another schema file of which the project file does not say anything, so that neither "
            "can be registered.",
            "Add an entry for the other file in counterfoil.yaml, with part: true if it has no subject of its own.",
        ),
        FileRule(
            "subject-changed",
            "The file belongs to another subject than before, because it was moved or renamed, or because the project "
            "file changed. The versions of the earlier subject are not compared with it any more.",
            "Name the subject in an entry of its own in counterfoil.yaml if it should stay the same.",
        ),
        FileRule(
            "schema-type-changed",
            "The subject holds schemas of another language, and records of one cannot be read with the other.",
            "Use another subject, or compare under --level NONE.",
        ),
        FileRule(
            "approval-stale",
            "An approval has expired, so that its finding fails again, or no finding has its fingerprint any more.",
            "Remove the entry (counterfoil approve --revoke), or approve the finding again with a later day.",
        ),
        FileRule(
            "generated-name-changed",
            "A field, type, symbol, oneof or service has another name or is gone, so that programs which use the code "
            "generated from it do not compile. Records may be unaffected.",
            "Keep the name and add the new one beside it, until no program uses the old one.",
        ),
        FileRule(
            "generated-type-changed",
            "A field has another type in generated code, so that programs which use it may not compile.",
            "Add a field of the new type beside it.",
        ),
        FileRule(
            "generated-package-changed",
            "The package or namespace of generated code changed, so that programs do not find the generated types.",
            "Keep the package, and declare a changed schema in a package of its own, such as shop.v2.",
        ),
        FileRule(
            "generated-file-moved",
            "The schema is in another file, so that programs which import the file, or the code generated from it, do "
            "not find it.",
            "Keep the file at its place; for Protobuf, a file at the old place can import the new one publicly.",
        ),
        FileRule(
            "contract-removed",
            "A contract, or one of its topics, is no longer there. It is an error if a consumer reads it.",
            "Restore it until nobody reads it any more.",
        ),
        FileRule(
            "contract-unread",
            "No consumer is known that reads the contract, so only its compatibility level protects those who do.",
            "Write the files of its consumers: counterfoil generate consumer.",
        ),
        FileRule(
            "contract-without-schema",
            "No schema file of the contract is known, so it is unknown whether its consumers can still read.",
            "Refer to the schema file: authoritativeDefinitions: [{type: schema, url: ...}].",
        ),
        FileRule(
            "migration-failed",
            "A contract has a new major version with a migration, and the migration does not permit the break: its "
            "converter is missing or incomplete, a record was not converted to what the other version promises and its "
            "consumers read, or its last day is over.",
            "Correct the converter; or promise the limits of the field in the contract, if such records do not occur.",
        ),
        FileRule(
            "migration-lossy",
            "The converter of a migration does not carry everything: fields are dropped, shortened or filled with a "
            "default.",
            "Where a consumer needs such a field, give it a rule in the converter, or keep it in the new version.",
        ),
        FileRule(
            "environment-unjudged",
            "A schema refers to another one that the registry does not have. Without it the registry cannot "
            "compute what the change breaks in the environment of --environment.",
            "Register what the schema refers to first, or check without --environment.",
        ),
        FileRule(
            "subject-unknown",
            "The file's name without its suffix does not end in -key or -value and no --subject names its subject, so "
            "its earlier versions cannot be requested from the registry.",
            "Give --subject FILE=SUBJECT, or name the file after its subject, such as orders-value.avsc.",
        ),
    )
}

INTENDED: Final = "If the break is intended, publish a new major version of {contract} with a migration."
"""The second way out of a break, besides that of its rule."""


def advice_for(rule: str, direction: Direction | None = None) -> str:
    """Return how to fix a finding of ``rule``: one or two sentences, or an empty text if nothing needs to be fixed.

    With ``Direction.FORWARD`` the failing reader is an earlier schema, which a change cannot fix; with ``BACKWARD`` it
    is the schema that is checked, and the text names it so.
    """
    if rule in FILE_RULE_BY_ID:
        return FILE_RULE_BY_ID[rule].fix
    from counterfoil.schema.languages.rules import advice_of_rule  # the tables of all languages cost start time

    return advice_of_rule(rule, direction)
