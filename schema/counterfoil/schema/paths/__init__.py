"""Field paths: places in a schema as steps by names, and their resolution.

The same value is used for findings, elements of reports, changes, tags and the fields that a consumer reads, with one
text form for people and files (:mod:`counterfoil.schema.paths.text`).
"""

from counterfoil.schema.paths.errors import InvalidPath, PathNotFound
from counterfoil.schema.paths.model import ITEMS, KEY, VALUES, FieldPath, Step, StepKind, branch, header, item, member
from counterfoil.schema.paths.resolve import Target, resolve_path
from counterfoil.schema.paths.text import parse_path, print_path

__all__ = [
    "ITEMS",
    "KEY",
    "VALUES",
    "FieldPath",
    "InvalidPath",
    "PathNotFound",
    "Step",
    "StepKind",
    "Target",
    "branch",
    "header",
    "item",
    "member",
    "parse_path",
    "print_path",
    "resolve_path",
]
