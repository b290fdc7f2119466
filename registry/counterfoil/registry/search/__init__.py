"""The search index: derived data beside the store, made from the journal, and the search in it."""
