"""The use cases of the registry, over a storage that is passed in."""
