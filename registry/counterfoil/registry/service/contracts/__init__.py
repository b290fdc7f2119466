"""The use cases of contracts: what is published, what is deployed, and the verdicts on it."""
