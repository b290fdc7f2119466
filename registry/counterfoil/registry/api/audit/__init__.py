"""The audit: which requests cause an event, and ``/audit/v1``."""
