"""Contracts: pure functions and stored documents."""
