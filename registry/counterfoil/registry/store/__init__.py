"""The storages: memory, SQLite and PostgreSQL, with the same behaviour."""
