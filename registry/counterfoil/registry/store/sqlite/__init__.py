"""The SQLite storage."""
