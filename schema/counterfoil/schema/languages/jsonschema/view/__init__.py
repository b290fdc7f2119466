"""The demands of a JSON schema on values: its constraints in one form for all drafts, and whether a value fits."""
