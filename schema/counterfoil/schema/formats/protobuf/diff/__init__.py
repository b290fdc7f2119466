"""Changes between two Protobuf schemas."""
