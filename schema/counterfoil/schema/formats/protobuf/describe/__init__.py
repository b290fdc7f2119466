"""Protobuf descriptors, from the tree and to it."""
