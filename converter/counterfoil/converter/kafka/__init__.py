"""Requests to the broker, and the headers of records."""
