"""What consumers read: what a schema gives at a path, and whether a change breaks someone who reads it."""
