"""Key management services that the registry can use itself, where a key encryption key is shared with it."""
