"""Protobuf files, pairs of them, generated classes and messages."""
