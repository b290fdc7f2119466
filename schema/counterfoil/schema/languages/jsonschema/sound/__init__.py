"""The policy SOUND for JSON Schema: proofs, refuted inclusions, and values with another meaning."""
