"""A server's caches of the store, and a storage over these caches alone."""
