"""Protobuf messages on Google's runtime: generated classes, dynamic messages, dicts; their places in files."""
