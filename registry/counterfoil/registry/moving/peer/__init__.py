"""A running registry as a source and a target, over its REST API."""
