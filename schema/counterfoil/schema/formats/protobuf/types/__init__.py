"""The types that a Protobuf schema and its imports declare, ready to be compared."""
