"""A project: its files, their languages and subjects, counterfoil.yaml, and the approvals."""
