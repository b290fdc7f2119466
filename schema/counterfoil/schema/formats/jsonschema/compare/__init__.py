"""The pair walk of two JSON schemas, and its rules."""
