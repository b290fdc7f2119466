"""Encryption keys: values, how they are stored, how rules refer to them."""
