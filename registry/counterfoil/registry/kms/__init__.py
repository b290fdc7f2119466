"""The key management services that the registry can use itself, for key encryption keys that are shared with it."""
