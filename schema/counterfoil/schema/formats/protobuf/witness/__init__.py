"""Witnesses for Protobuf: messages of the writer's schema that the runtime reads with the reader's schema."""
