"""The storages: memory, SQLite and PostgreSQL, one behaviour."""
