"""Judgements that take long, beside the event loop."""
