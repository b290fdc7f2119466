"""Intended breaks: whether the converter of a migration makes what its consumers, and the contract, expect."""
