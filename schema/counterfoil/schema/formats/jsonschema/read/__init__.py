"""JSON Schema documents: drafts, references, validity, the places in them."""
