"""The search for values that fit JSON schemas, and proofs that there are none."""
