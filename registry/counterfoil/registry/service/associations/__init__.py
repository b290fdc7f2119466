"""The use cases of associations."""
