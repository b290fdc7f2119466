"""Encryption of fields and of whole messages, with keys that the registry keeps wrapped.

A data encryption key (DEK) encrypts the values of a subject. A key encryption key (KEK) of a key management service
wraps it; the registry has the wrapped form, and the program unwraps it with its own access to the service, or, where
the KEK is shared with the registry, receives it from there.
"""
