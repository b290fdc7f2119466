"""Who exists and who may do what, as far as it is in the store."""
