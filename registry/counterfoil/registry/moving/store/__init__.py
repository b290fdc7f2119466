"""A store as a source and a target, without a server."""
