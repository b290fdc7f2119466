"""JSON Schema: reading and printing schemas, comparing them, values that fit, witnesses, changes, tags."""
