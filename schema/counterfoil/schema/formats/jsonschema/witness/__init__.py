"""Witnesses for JSON Schema, confirmed by the package jsonschema."""
