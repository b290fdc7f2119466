"""The action DLQ."""
