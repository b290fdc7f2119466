"""Schemas whose names are marks, which a test looks for where they must not be."""

from __future__ import annotations

import json


def enum(mark: str) -> str:
    return json.dumps({"type": "enum", "name": mark, "symbols": ["A"]})


def record(mark: str, refers: str) -> str:
    return json.dumps({"type": "record", "name": mark, "fields": [{"name": "f", "type": refers}]})


def full(name: str) -> str:
    return name if name.startswith(":") else f":.:{name}"
