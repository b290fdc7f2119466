"""Values that fit a schema, made in an order that is meant to break another one."""
