"""Callers, credentials and rules of access: registries that demand them, and what each caller may see."""
