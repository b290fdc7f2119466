"""Encryption of fields and of whole messages, with keys that the registry keeps wrapped."""
