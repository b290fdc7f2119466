"""Witnesses for Protobuf: messages that the writer may write, read by the runtime under the reader's schema."""
