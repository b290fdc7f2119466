"""Descriptors of Protobuf files, written and read."""
