"""The PostgreSQL storage."""
