"""Associations of resources with subjects."""
