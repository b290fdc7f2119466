"""Passwords: their hashes, the files that hold them, checking them without a burden for other requests."""
