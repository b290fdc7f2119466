"""Conversion between Protobuf descriptors and syntax trees."""
