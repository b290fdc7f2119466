"""Contract and product files from schemas."""
