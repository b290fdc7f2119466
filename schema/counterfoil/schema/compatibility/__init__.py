"""Compatibility: levels, the check, the report."""
