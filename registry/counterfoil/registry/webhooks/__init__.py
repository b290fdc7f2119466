"""Sending events to webhooks, outside of the path of requests."""
