"""The audit file: writing it in a thread, reading and verifying it."""
