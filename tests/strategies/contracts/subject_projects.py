"""Schemas of projects whose files are mapped to subjects, and the states that a plan prints."""

from __future__ import annotations

from typing import Any

DRAFT = "http://json-schema.org/draft-07/schema#"
JSON_ORDER = {"$schema": DRAFT, "title": "Order", "type": "object", "properties": {"id": {"type": "string"}}}
CLOSED = {**JSON_ORDER, "additionalProperties": False}


def record(name: str, *fields: str, **more: Any) -> dict[str, Any]:
    members = [{"name": each, "type": "string", "default": ""} for each in fields]
    return {"type": "record", "name": name, "fields": members, **more}


def states(outcome: Any) -> dict[str, tuple[str, str]]:
    """Return subject and state of each file that a plan reports."""
    return {each["file"]: (each["subject"], each["state"]) for each in outcome.report["files"]}
