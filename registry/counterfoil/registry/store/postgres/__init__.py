"""The storage in PostgreSQL."""
