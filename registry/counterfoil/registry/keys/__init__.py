"""Encryption keys: the DEK registry."""
