"""The change feed, and the registry as it was."""
