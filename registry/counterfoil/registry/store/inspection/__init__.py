"""Inspecting a store without a server: checking that it is consistent, and counting its content."""
