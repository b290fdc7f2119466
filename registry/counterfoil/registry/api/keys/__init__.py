"""The routes of encryption keys."""
