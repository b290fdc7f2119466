"""Bundles: the schemas of a registry in one file, for programs that run where the registry cannot be reached."""
