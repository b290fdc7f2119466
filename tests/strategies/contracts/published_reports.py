"""The published schemas of report formats, which the reports of this project must be valid by."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jsonschema import Draft7Validator, Draft202012Validator

if TYPE_CHECKING:
    import xmlschema
    from jsonschema.protocols import Validator

_FOLDER = Path(__file__).parents[2] / "data" / "reports"


@cache
def junit() -> xmlschema.XMLSchema10:
    """Return the schema of JUnit XML as Jenkins reads it."""
    import xmlschema  # three tests need it

    return xmlschema.XMLSchema10(str(_FOLDER / "junit-10.xsd"), allow="local", use_fallback=False)


@cache
def sarif() -> Validator:
    """Return the schema of SARIF 2.1.0."""
    return Draft7Validator(json.loads((_FOLDER / "sarif-schema-2.1.0.json").read_text()))


@cache
def gitlab() -> Validator:
    """Return the schema of GitLab's Code Quality reports."""
    return Draft202012Validator(json.loads((_FOLDER / "gitlab-code-quality.json").read_text()))
