"""The use cases of bridges."""
