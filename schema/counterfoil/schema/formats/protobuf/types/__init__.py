"""The types that a Protobuf schema and its imports declare, for comparisons."""
