"""The keywords of a JSON schema in one form for all drafts, and the evaluation of values."""
