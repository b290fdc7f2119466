"""The languages of schemas, as plans see them: each reads a schema as a tree."""
