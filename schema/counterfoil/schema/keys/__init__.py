"""Encryption keys: their material, the ciphers that use them, and the services that wrap them, without I/O."""
