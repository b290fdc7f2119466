"""Protobuf: reading and printing schemas, descriptors, comparing, witnesses, changes, tags."""
