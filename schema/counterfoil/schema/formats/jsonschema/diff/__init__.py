"""What changed between two JSON schemas."""
