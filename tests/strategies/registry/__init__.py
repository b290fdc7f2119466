"""Registries to drive: requests, histories, a model, invariants, and load."""
