"""The use cases: what a request asks of the registry, over a storage that is handed in."""
