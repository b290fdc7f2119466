"""One view of a JSON schema: what stands where, and what it asks of values, with the drafts taken out."""
