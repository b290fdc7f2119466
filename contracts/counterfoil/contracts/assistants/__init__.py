"""The answers of the tools: schemas, differences, checks, readers, verdicts, messages and rules, as JSON documents.

Nothing is changed, neither in a registry nor on this machine, and no local file is read: what a caller may see is what
its credentials for the registry permit. Every answer is what a command prints with ``--json``.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.baselines import Baseline
from counterfoil.contracts.baselines.operands import SUBJECT_VERSION
from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.project import ReadSchema, SchemaTree
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from counterfoil.sdk.client import Registry


FOUND_AT_MOST: Final = 200
"""How many names of subjects one answer has; it says how many there are."""
_CONFIRMED: Final = 100
_SUFFIXES: Final = {SchemaType.AVRO: ".avsc", SchemaType.PROTOBUF: ".proto", SchemaType.JSON: ".schema.json"}


class Tools:
    """The tools of one caller; ``open_registry`` returns a client with the caller's credentials."""

    def __init__(self, open_registry: Callable[[], Registry]) -> None:
        self._open = open_registry

    def find_schemas(self, text: str) -> JsonObject:
        """Return the subjects whose names contain ``text``, in any case of letters."""
        with self._open() as registry:
            names = [name for name in registry.subjects() if text.casefold() in name.casefold()]
        return {"subjects": names[:FOUND_AT_MOST], "found": len(names)}

    def read_schema(self, subject: str, version: int | None = None) -> JsonObject:
        """Return a version of a subject with its text; without a number the latest."""
        from counterfoil.schema.rest.schemas import schema_document

        with self._open() as registry:
            found = registry.version(subject, version or "latest")
        return {"subject": found.subject, "version": found.version, "id": found.id, **schema_document(found.schema)}

    def compare_schemas(self, earlier: str, later: str) -> JsonObject:
        """Return the changes between two versions, each given as ``SUBJECT@VERSION``."""
        from counterfoil.contracts.reports.diff import DiffReport, json_diff

        with self._open() as registry:
            was, now = (_version(registry, each) for each in (earlier, later))
            return _parsed(json_diff(DiffReport.of(was, now)))

    def check_change(
        self,
        schema: str,
        schema_type: str,
        *,
        subject: str = "",
        earlier: str = "",
        level: str = "",
        policy: str = "",
        files: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Return the report on a proposed schema: against the versions of ``subject``, or the text ``earlier``.

        ``files`` are further schema files that the schema refers to, by path.
        """
        from counterfoil.contracts.baselines import TreeBaseline
        from counterfoil.contracts.baselines.operands import RegistryBaseline

        if bool(subject) == bool(earlier):
            raise UsageMistake("give either subject, whose versions are compared with, or earlier, the text before")
        path = f"proposed{_SUFFIXES[_language(schema_type)]}"
        files = files or {}
        head = _tree({**files, path: schema}, "the proposed schema")
        if earlier:
            before = _tree({**files, path: earlier}, "the earlier schema")
            baseline = TreeBaseline(head, [before], label=before.label, is_wanted=lambda _: False)
            return _report(head, path, baseline, level=level, policy=policy)
        with self._open() as registry:
            named = RegistryBaseline(registry, {path: subject}, label="the registry")
            return _report(head, path, named, level=level, policy=policy)

    def who_reads(self, field: str, environment: str = "") -> JsonObject:
        """Return who reads ``SUBJECT`` or ``SUBJECT.PATH``, by declarations and by observation."""
        from counterfoil.contracts.deploy.usage import json_usage, usage_of

        with self._open() as registry:
            return _parsed(json_usage(usage_of(registry, field, environment=environment or None)))

    def can_i_deploy(self, application: str, version: str, environment: str) -> JsonObject:
        """Return the verdict of the registry on a deployment."""
        from counterfoil.contracts.reports.deployment import DeploymentQuestion, json_verdict
        from counterfoil.sdk import operations

        with self._open() as registry:
            verdict = registry.call(operations.can_i_deploy(application, version, environment))
        return _parsed(
            json_verdict(DeploymentQuestion(f"{application} {version}", "deployed to", environment), verdict)
        )

    def decode_message(self, message: str, reader: str = "") -> JsonObject:
        """Return the frame, the schema and the value of a message in hexadecimal digits, also as a ``reader`` reads it.

        ``reader`` is ``SUBJECT@VERSION``.
        """
        from counterfoil.contracts.records.message import json_decoded, take_apart

        try:
            data = bytes.fromhex(message)
        except (ValueError, binascii.Error):
            raise UsageMistake("message is not hexadecimal: two of 0 to 9 and a to f for each byte") from None
        with self._open() as registry:
            expected = None if not reader else _version(registry, reader)
            return _parsed(json_decoded(take_apart(data, named=None, registry=registry, reader=expected)))

    def explain_rule(self, rule: str) -> JsonObject:
        """Return the meaning of a rule of the reports, why it matters, and a way to follow it."""
        from difflib import get_close_matches

        rules = _rules()
        if rule in rules:
            return {"rule": rule, **rules[rule]}
        like = ", ".join(get_close_matches(rule, rules)) or "none; the rule of a finding is in its report"
        raise UsageMistake(f"there is no rule {rule!r}; similar names: {like}")


def _report(head: SchemaTree, path: str, baseline: Baseline, *, level: str, policy: str) -> JsonObject:
    from counterfoil.contracts.check.check import check_files, exit_code_of
    from counterfoil.contracts.reports import json_report
    from counterfoil.schema.compatibility import parse_level, parse_policy

    report = check_files(
        head,
        [path],
        baseline=baseline,
        level=parse_level(level) if level else None,
        policy=parse_policy(policy) if policy else None,
        confirm=_CONFIRMED,
    )
    return _parsed(json_report(report, exit_code=exit_code_of(report, fail_on=None, is_empty_fine=False)))


def _tree(files: Mapping[str, str], label: str) -> SchemaTree:
    from counterfoil.contracts.project import SchemaFile, SchemaTree
    from counterfoil.schema.parsed import Validation

    given = (SchemaFile(path, text.encode("utf-8", "surrogatepass")) for path, text in files.items())
    return SchemaTree(given, label=label, validation=Validation.STRICT)


def _version(registry: Registry, operand: str) -> ReadSchema:
    """Return a version of a subject; the forms of commands that name files are refused."""
    from counterfoil.contracts.baselines.operands import read_version

    named = SUBJECT_VERSION.fullmatch(operand)
    if named is None:
        raise UsageMistake(f"{operand!r} is not SUBJECT@VERSION, such as orders-value@2 or orders-value@latest")
    number = named["version"]
    return read_version(registry, named["subject"], "latest" if number == "latest" else int(number))


def _language(name: str) -> SchemaType:
    try:
        return SchemaType(name.upper())
    except ValueError:
        raise UsageMistake(f"{name!r} is no schema type; expected one of {', '.join(SchemaType)}") from None


def _rules() -> dict[str, JsonObject]:
    """Return the facts of every rule of checks, reads and lint."""
    from counterfoil.contracts.advice import FILE_RULE_BY_ID
    from counterfoil.contracts.lint import LINT_RULE_BY_ID
    from counterfoil.schema.agreements import RULE_BY_ID as READS
    from counterfoil.schema.languages.rules import RULE_BY_ID as COMPATIBILITY

    texts: dict[str, JsonObject] = {
        name: {"about": "files", "why": rule.why, "fix": rule.fix} for name, rule in LINT_RULE_BY_ID.items()
    }
    texts |= {name: {"about": "files", "why": each.why, "fix": each.fix} for name, each in FILE_RULE_BY_ID.items()}
    texts |= {name: {"about": "what consumers read", "why": one.why, "fix": one.fix} for name, one in READS.items()}
    texts |= {
        name: {
            "about": f"compatibility of {found.schema_type or 'every language'}",
            "why": found.why,
            "fix": found.fix or found.forward_fix,
            "breaksUnder": sorted(found.breaks),
        }
        for name, found in COMPATIBILITY.items()
    }
    return texts


def _parsed(text: str) -> JsonObject:
    found: JsonObject = json.loads(text)
    return found
