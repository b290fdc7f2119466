"""Encryption keys: values, how they are stored, how rules name them."""
