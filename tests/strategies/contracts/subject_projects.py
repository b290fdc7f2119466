"""Schemas of projects whose files are mapped to subjects, and the states that a plan prints."""

from __future__ import annotations

DRAFT = "http://json-schema.org/draft-07/schema#"
JSON_ORDER = {"$schema": DRAFT, "title": "Order", "type": "object", "properties": {"id": {"type": "string"}}}
CLOSED = {**JSON_ORDER, "additionalProperties": False}


def record(name, *fields, **more):
    members = [{"name": each, "type": "string", "default": ""} for each in fields]
    return {"type": "record", "name": name, "fields": members, **more}


def states(outcome):
    return {each["file"]: (each["subject"], each["state"]) for each in outcome.report["files"]}
