"""The run of a bridge: one Spark query, its checkpoint, its progress and its restart."""
