"""Findings that are accepted for a time: the file that lists them, and what they make of a report."""
