"""The published JSON Schemas of the standards, and the validation of a document with the place of every mistake.

Documents are validated by jsonschema-rs where it is installed; jsonschema validates them without it, and finds the
mistakes. Formats are not asserted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.schema.agreements.model import Fault
from counterfoil.schema.agreements.violations import INVALID, faults_of
from counterfoil.schema.documents.blocks import likely, respelled, text_of
from counterfoil.schema.documents.nodes import MappingNode, Repair, ScalarNode, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from counterfoil.schema.documents.nodes import Node

_MAX_FAULTS: Final = 40
_MAX_ERRORS: Final = 400
"""The largest number of errors of jsonschema that are looked at for mistakes; a file may have thousands."""

_Check: TypeAlias = "Callable[[Any, Any, Any, Any], Iterable[Any] | None]"
"""What a validator of the package jsonschema does for a keyword; it returns the errors."""

_Valid: TypeAlias = "dict[tuple[str, int, int], tuple[Any, Any]]"
"""The values and schemas of keywords without errors, by keyword and identities, which stay taken meanwhile."""


@dataclass(frozen=True, slots=True)
class Standard:
    """One standard: its name, the ``kind`` of its documents, and the file for each ``apiVersion`` that is accepted."""

    name: str
    kind: str
    file_by_version: dict[str, str]


ODCS: Final = Standard(
    "ODCS",
    "DataContract",
    {f"v{version}": f"odcs-{version}.schema.json" for version in ("3.2.0", "3.1.0", "3.0.2", "3.0.1", "3.0.0")},
)
"""Each version has its own schema: that of 3.0 does not know what 3.1 added, and permits what 3.1 took away."""
ODPS: Final = Standard("ODPS", "DataProduct", dict.fromkeys(("v1.0.0", "v0.9.0"), "odps-1.0.0.schema.json"))
STANDARDS: Final = (ODCS, ODPS)


def standard_of(root: Node) -> tuple[Standard, str] | Fault:
    """Return the standard of a document and the file of its schema, or why there is none."""
    if not isinstance(root, MappingNode):
        return Fault(INVALID, "the file must be a mapping with kind and apiVersion", root.position)
    kinds = {each.kind: each for each in STANDARDS}
    kind_node, version_node = root.entries.get("kind"), root.entries.get("apiVersion")
    if kind_node is None:
        return Fault(INVALID, f"the file needs kind: {' or '.join(kinds)}", root.position)
    standard = kinds.get(text_of(kind_node))
    if standard is None:
        problem = f"kind must be {' or '.join(kinds)}, not {text_of(kind_node)}; {likely(text_of(kind_node), kinds)}"
        return Fault(INVALID, problem, kind_node.position, _meant(kind_node, respelled(text_of(kind_node), kinds)))
    versions = standard.file_by_version
    if version_node is None:
        return Fault(INVALID, f"the file needs apiVersion: one of {', '.join(versions)}", root.position)
    version = text_of(version_node)
    if version not in versions:
        given = version or ("a text that is empty" if isinstance(version_node, ScalarNode) else "a list or a mapping")
        problem = f"apiVersion must be one of {', '.join(versions)}, not {given}"
        return Fault(INVALID, problem, version_node.position, _meant(version_node, _with_v(version, versions)))
    return standard, versions[version]


def _with_v(version: str, versions: Iterable[str]) -> str | None:
    """Return the version that is written without its first letter, or with a capital one; None if it is none."""
    return respelled(f"v{version.removeprefix('V')}", versions)


def _meant(node: Node, word: str | None) -> Repair | None:
    return None if word is None else Repair(node.position, text_of(node), word)


def violations(root: Node, file: str) -> tuple[Fault, ...]:
    """Return how a document violates the JSON Schema in ``file``; raise ``InvalidDocument`` for an unclear scalar.

    Where the document is valid under a later version of its standard, each mistake says so.
    """
    value = plain_value(root)
    if _is_quickly_valid(value, file):
        return ()
    schema = _schema(file)
    errors = [*islice(remembering_validator(file).iter_errors(value), _MAX_ERRORS)]
    found = dict.fromkeys(faults_of(errors, root, schema))
    later = _later_version(value, file) if found else ""
    hint = f"; the file is valid under apiVersion {later}" if later else ""
    return tuple(replace(each, problem=f"{each.problem}{hint}") for each in found)[:_MAX_FAULTS]


def is_quickly_valid(root: Node, file: str) -> bool:
    """Return whether a document is known to be valid within milliseconds; False also where that is not known."""
    return _is_quickly_valid(plain_value(root), file)


def _is_quickly_valid(value: Any, file: str) -> bool:
    fast = _fast_validator(file)
    return fast is not None and bool(fast.is_valid(value))


def _later_version(value: Any, file: str) -> str:
    """Return the first version after that of ``file`` under which a document is valid; empty if there is none."""
    versions = next(each.file_by_version for each in STANDARDS if file in each.file_by_version.values())
    files = list(dict.fromkeys(versions.values()))
    version_by_file = {each: version for version, each in reversed(versions.items())}
    later = (each for each in reversed(files[: files.index(file)]) if remembering_validator(each).is_valid(value))
    return version_by_file.get(next(later, ""), "")


def remembering_validator(file: str) -> Any:
    """Return a validator by jsonschema for one document, which remembers what is valid.

    The package validates a value inside ``n`` others ``2 ** n`` times, once more for each ``unevaluatedProperties``.
    """
    package = import_module("jsonschema")
    plain = package.Draft201909Validator
    valid: _Valid = {}
    checks = {keyword: _remembering(valid, keyword, check) for keyword, check in plain.VALIDATORS.items()}
    return package.validators.extend(plain, checks)(_schema(file))


def _remembering(valid: _Valid, keyword: str, check: _Check) -> _Check:
    """Return the check of a keyword of jsonschema, which is not done again for a value that passed it."""

    def checked(validator: Any, limit: Any, instance: Any, schema: Any) -> Iterator[Any]:
        key = (keyword, id(instance), id(schema))
        if key in valid:
            return
        is_valid = True
        for error in check(validator, limit, instance, schema) or ():
            is_valid = False
            yield error
        if is_valid:
            valid[key] = (instance, schema)

    return checked


@cache
def _schema(file: str) -> dict[str, Any]:
    text = (files("counterfoil.schema.agreements") / "standards" / file).read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _fast_validator(file: str) -> Any:
    """Return the compiled validator of jsonschema-rs; None where it is not installed."""
    try:
        rust = import_module("jsonschema_rs")
    except ImportError:  # the extra json has it
        return None
    return rust.Draft201909Validator(_schema(file), validate_formats=False)
