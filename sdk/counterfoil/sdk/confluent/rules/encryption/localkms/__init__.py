"""The driver of a secret in the settings."""
