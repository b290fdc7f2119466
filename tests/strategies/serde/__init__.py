"""Typed models with their objects, and a program with Quix Streams."""
