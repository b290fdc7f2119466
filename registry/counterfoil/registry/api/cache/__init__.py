"""Responses from memory."""
