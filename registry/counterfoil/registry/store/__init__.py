"""The storages: memory and SQLite, one behaviour."""
