"""Another registry, as a source and a target of facts over the REST API."""
