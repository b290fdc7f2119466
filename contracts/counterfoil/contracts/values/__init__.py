"""Values of messages as JSON, in the one form that commands print and read."""
