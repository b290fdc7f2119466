"""What changed between two Protobuf schemas."""
